// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.oom;

import static org.assertj.core.api.Assertions.assertThat;

import io.memopt.oom.MemoryState.Holder;
import java.util.List;
import java.util.OptionalLong;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class ExhaustionReportTest {
    private static final MemoryState STATE = new MemoryState(
            OptionalLong.of(1000),
            700,
            200,
            50,
            OptionalLong.of(400),
            OptionalLong.of(1024),
            OptionalLong.of(300),
            List.of(new Holder("15 detached arrays, made by Loader.read:42", 650), new Holder("workspace WS", 200)));

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "true|Physical memory usage is too high: physicalBytes (1083M) > maxPhysicalBytes (1024M)|PHYSICAL_CAP",
                "true|Failed to allocate memory within limits: totalBytes (1G) > maxBytes (1G)|JAVACPP_CAP",
                "true|Java heap space|JAVA_HEAP",
                "true|GC overhead limit exceeded|JAVA_HEAP",
                "true|Direct buffer memory|NATIVE",
                "false|std::bad_alloc|NATIVE",
                "false|Allocation failed: [std::bad_alloc]|NATIVE",
                "false|java.lang.RuntimeException: std::bad_alloc|NATIVE",
                "false|DataBuffer expansion failed: [std::bad_alloc]|NATIVE",
                "false|[DEVICE] allocation failed; Error code: [2]|NATIVE",
                "false|out of memory; Bytes: [4096]; Error code [2]; DEVICE [0]|NATIVE",
                "false|Failed to allocate 4096 bytes from HOST memory|NATIVE",
                "false|Failed to allocate 4096 bytes from DEVICE [0] memory|NATIVE",
                "true|Failed to allocate [4096] bytes|NATIVE",
                "false|CUDA error code=2(cudaErrorMemoryAllocation)|NATIVE",
                "false|cudaMalloc failed: out of memory|NATIVE",
                "false|CUDA_ERROR_OUT_OF_MEMORY: out of memory|NATIVE",
                "false|CUDNN_STATUS_ALLOC_FAILED|NATIVE",
                "false|cublasCreate: CUBLAS_STATUS_ALLOC_FAILED|NATIVE",
                "true|Metaspace|NATIVE",
                "true|unable to create native thread: possibly out of memory or process/resource limits reached|NONE",
                "true|Requested array size exceeds VM limit|NONE",
                "false|CUDNN_STATUS_BAD_PARAM|NONE",
                "false|Error code [700]; Bytes: [16]|NONE",
                "false|seat allocation failed: no free seats|NONE",
                "false|Failed to allocate 45.0 MiB (47185920 B) from memory pool cuda-vmm: in use 59.4 MiB|NATIVE",
                "false|Failed to allocate a port|NONE",
                "false|the cinema is out of memory sticks|NONE",
                "false|shapes do not match|NONE"
            })
    void kind_ofKnownTexts_isTold(boolean error, String text, Exhaustion expected) {
        Throwable failure = error ? new OutOfMemoryError(text) : new IllegalStateException(text);

        assertThat(Exhaustion.of(failure)).isEqualTo(expected);
        assertThat(Exhaustion.of(new IllegalStateException("Error during neural network forward pass", failure)))
                .isEqualTo(expected);
    }

    @Test
    void kind_ofCausesInACircle_isTold() {
        IllegalStateException outer = new IllegalStateException("outer");
        IllegalStateException inner = new IllegalStateException("inner", outer);
        outer.initCause(inner);

        assertThat(Exhaustion.of(outer)).isEqualTo(Exhaustion.NONE);
    }

    @Test
    void physicalCap_innerCause_namesHoldersAndAcquitsTheRequest() {
        OutOfMemoryError failure =
                new OutOfMemoryError("Cannot allocate new LongPointer(1): totalBytes = 0, physicalBytes = 1083M");
        failure.initCause(new OutOfMemoryError(
                "Physical memory usage is too high: physicalBytes (1083M) > maxPhysicalBytes (1024M)"));

        assertThat(ExhaustionReport.render(failure, STATE, bytes -> bytes + " B"))
                .isEqualTo("""
                        JavaCPP's physical cap 1024 B (org.bytedeco.javacpp.maxphysicalbytes) is reached. It counts the whole process, Java heap included.
                        Held now: 700 B tensors, 200 B workspaces, about 100 B JVM and libraries (committed Java heap 50 B); resident together 1000 B.
                          650 B in 15 detached arrays, made by Loader.read:42
                          200 B in workspace WS
                        The request that failed, LongPointer(1), is not the cause: it was only the next one.
                        What to do: close() arrays that are done with, use a smaller batch, lower -Xmx, or raise the cap: -Dorg.bytedeco.javacpp.maxphysicalbytes=1m (0 switches it off), which has room for 1048476 B of arrays and workspaces, now 900 B, while the Java heap stays as small as it is.""");
    }

    @Test
    void failureOfAnotherKind_isSaidToBeOne() {
        assertThat(ExhaustionReport.render(new IllegalStateException("shapes"), STATE, Long::toString))
                .isEqualTo("This failure is not about memory: java.lang.IllegalStateException: shapes");
    }
}
