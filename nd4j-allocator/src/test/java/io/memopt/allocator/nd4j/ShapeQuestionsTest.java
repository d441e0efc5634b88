// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.allocator.nd4j;

import static org.assertj.core.api.Assertions.assertThat;

import java.lang.reflect.Proxy;
import java.util.ArrayList;
import java.util.List;
import org.bytedeco.javacpp.Pointer;
import org.junit.jupiter.api.Test;
import org.nd4j.linalg.factory.Nd4j;
import org.nd4j.nativeblas.NativeOps;
import org.nd4j.nativeblas.OpaqueDataBuffer;

/** Through the layer that serves memory, over a library that only tells what it was asked. */
class ShapeQuestionsTest {
    private static final int FLOAT = 5;
    private static final long LARGE = ShapeQuestions.LARGE_BYTES / Float.BYTES;

    private final List<String> asked = new ArrayList<>();
    private long next = 1000;
    private final NativeOps library = (NativeOps) Proxy.newProxyInstance(
            ShapeQuestionsTest.class.getClassLoader(), new Class<?>[] {NativeOps.class}, (self, method, arguments) -> {
                switch (method.getName()) {
                    case "dbCreateExternalDataBuffer", "dbCreateView" -> {
                        return buffer(next++);
                    }
                    case "dbSyncToPrimary" -> asked.add("copy " + ((Pointer) arguments[0]).address());
                    case "calculateOutputShapes2" -> asked.add("shape");
                    case "deleteDataBuffer" -> {}
                    default -> throw new UnsupportedOperationException(method.getName());
                }
                return null;
            });
    private final NativeOps ops = serving(true);

    /** Stands for the backend's: asks as it does. */
    private static final class CudaExecutioner {
        static void calculateOutputShape(NativeOps ops, String operation, OpaqueDataBuffer... inputs) {
            for (OpaqueDataBuffer input : inputs) {
                copy(ops, input);
            }
            ops.calculateOutputShapes2(null, hash(operation), null, null, 0, null, 0, null, 0, null, 0, null, 0);
        }

        private static void copy(NativeOps ops, OpaqueDataBuffer input) {
            ops.dbSyncToPrimary(input);
        }
    }

    @Test
    void question_aboutPooling_copiesNothing() {
        OpaqueDataBuffer input = ops.dbCreateExternalDataBuffer(LARGE, FLOAT, null, null);

        CudaExecutioner.calculateOutputShape(ops, "maxpool2d", input);

        assertThat(asked).containsExactly("shape");
    }

    @Test
    void question_aboutAnOperationThatMayLookAtValues_copiesBeforeItIsAsked() {
        OpaqueDataBuffer input = ops.dbCreateExternalDataBuffer(LARGE, FLOAT, null, null);

        CudaExecutioner.calculateOutputShape(ops, "unique", input);

        assertThat(asked).containsExactly("copy 1000", "shape");
    }

    @Test
    void question_aboutPoolingOfAView_copiesNothing() {
        OpaqueDataBuffer view = ops.dbCreateView(buffer(7), ShapeQuestions.LARGE_BYTES, 0);

        CudaExecutioner.calculateOutputShape(ops, "avgpool2d", view);

        assertThat(asked).containsExactly("shape");
    }

    @Test
    void question_aboutASmallArray_copiesAtOnce() {
        OpaqueDataBuffer input = ops.dbCreateExternalDataBuffer(LARGE - 1, FLOAT, null, null);

        CudaExecutioner.calculateOutputShape(ops, "maxpool2d", input);

        assertThat(asked).containsExactly("copy 1000", "shape");
    }

    @Test
    void copy_forAnyoneElse_isMadeAtOnce() {
        OpaqueDataBuffer input = ops.dbCreateExternalDataBuffer(LARGE, FLOAT, null, null);

        ops.dbSyncToPrimary(input);

        assertThat(asked).containsExactly("copy 1000");
    }

    @Test
    void copy_ofABufferThatTookTheAddressOfAnother_isNotTakenForIt() {
        OpaqueDataBuffer input = ops.dbCreateExternalDataBuffer(LARGE, FLOAT, null, null);
        ops.deleteDataBuffer(input);

        CudaExecutioner.calculateOutputShape(ops, "maxpool2d", input);

        assertThat(asked).containsExactly("copy 1000", "shape");
    }

    @Test
    void question_withoutMirrors_copiesAsEver() {
        NativeOps plain = serving(false);
        OpaqueDataBuffer input = plain.dbCreateExternalDataBuffer(LARGE, FLOAT, null, null);

        CudaExecutioner.calculateOutputShape(plain, "maxpool2d", input);

        assertThat(asked).containsExactly("copy 1000", "shape");
    }

    private NativeOps serving(boolean mirrors) {
        try {
            ServedMemory memory = new ServedMemory();
            memory.begin(null, null, mirrors);
            return InterposerFactory.serve(library, memory, true);
        } catch (ReflectiveOperationException e) {
            throw new LinkageError(e.getMessage(), e);
        }
    }

    private static long hash(String operation) {
        return Nd4j.getExecutioner().getCustomOperations().get(operation).getHash();
    }

    private static OpaqueDataBuffer buffer(long at) {
        return new OpaqueDataBuffer(new Pointer() {
            {
                address = at;
            }
        });
    }
}
