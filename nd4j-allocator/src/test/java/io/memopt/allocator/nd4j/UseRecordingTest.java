// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.allocator.nd4j;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.memopt.allocator.event.AllocationKind;
import io.memopt.allocator.event.EventSink;
import io.memopt.allocator.event.MemoryEvent;
import io.memopt.allocator.recording.EventRing;
import io.memopt.allocator.use.ArrayLifetime;
import io.memopt.allocator.use.UseBook;
import io.memopt.allocator.use.UseWindow;
import java.lang.reflect.Field;
import java.util.List;
import java.util.function.Consumer;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Named;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.MethodSource;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.memory.MemoryWorkspace;
import org.nd4j.linalg.api.memory.conf.WorkspaceConfiguration;
import org.nd4j.linalg.api.memory.enums.AllocationPolicy;
import org.nd4j.linalg.api.memory.enums.LearningPolicy;
import org.nd4j.linalg.api.memory.enums.SpillPolicy;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.factory.Nd4j;
import org.nd4j.linalg.indexing.NDArrayIndex;
import org.nd4j.linalg.ops.transforms.Transforms;
import org.nd4j.nativeblas.NativeOps;
import org.nd4j.nativeblas.NativeOpsHolder;

/** Real operations of ND4J inside a workspace: each is a use of the arrays it works on. */
class UseRecordingTest {
    private static final WorkspaceConfiguration SMALL = WorkspaceConfiguration.builder()
            .initialSize(1 << 20)
            .policyAllocation(AllocationPolicy.STRICT)
            .policyLearning(LearningPolicy.NONE)
            .policySpill(SpillPolicy.EXTERNAL)
            .build();

    private UseBook book;

    @BeforeEach
    void install() {
        MemoryHooks.install();
        book = MemoryHooks.recordUses();
    }

    @AfterEach
    void uninstall() {
        Nd4j.getWorkspaceManager().destroyAllWorkspacesForCurrentThread();
        MemoryHooks.uninstall();
    }

    static Stream<Named<Consumer<INDArray>>> uses() {
        return Stream.of(
                named("elementwise", a -> a.addi(1)),
                named("pairwise", a -> Nd4j.zeros(DataType.FLOAT, 8, 8).addi(a)),
                named("reduction", a -> a.sumNumber()),
                named("row reduction", a -> a.sum(0)),
                named("transform", a -> Transforms.tanh(a, false)),
                named("broadcast", a -> Nd4j.zeros(DataType.FLOAT, 8, 8).addiRowVector(a.getRow(0))),
                named("gemm", a -> Nd4j.eye(8).castTo(DataType.FLOAT).mmul(a)),
                named("copy", a -> a.dup()),
                named("concat", a -> Nd4j.concat(0, a, a)),
                named("assign", a -> Nd4j.zeros(DataType.FLOAT, 8, 8).assign(a)),
                named("custom", a -> Nd4j.nn().softmax(a, 1)),
                named(
                        "view",
                        a -> a.get(NDArrayIndex.interval(2, 4), NDArrayIndex.all())
                                .muli(2)),
                named("transposed view", a -> a.transpose().sumNumber()),
                named("element read", a -> a.getDouble(3, 3)),
                named("element write", a -> a.putScalar(2, 2, 5)),
                named("view element", a -> a.getRow(3).getDouble(2)),
                named("whole as floats", a -> a.data().asFloat()));
    }

    private static Named<Consumer<INDArray>> named(String name, Consumer<INDArray> use) {
        return Named.of(name, use);
    }

    @ParameterizedTest
    @MethodSource("uses")
    void lastUse_ofArray_isTheOperationOnIt(Consumer<INDArray> use) {
        UseWindow window = book.openWindow();
        List<ArrayLifetime> lives;
        try (MemoryWorkspace scope = open("USE_A")) {
            INDArray array = Nd4j.ones(DataType.FLOAT, 8, 8); // 0
            INDArray between = Nd4j.zeros(DataType.FLOAT, 16); // 1
            between.addi(1);
            use.accept(array); // used when at least array 1 is born
            Nd4j.zeros(DataType.FLOAT, 4); // at least 2, after the use
            lives = window.close();
        }

        ArrayLifetime first = lives.get(0);
        assertThat(first.requestedBytes()).isEqualTo(8 * 8 * 4);
        assertThat(first.workspace()).isEqualTo("USE_A");
        assertThat(first.used()).isTrue();
        assertThat(first.lastUse()).isBetween(1, lives.size() - 2);
    }

    @ParameterizedTest
    @EnumSource(
            value = DataType.class,
            names = {"FLOAT", "DOUBLE", "HALF", "BFLOAT16", "INT", "LONG", "SHORT", "BYTE", "UBYTE", "BOOL"})
    void elements_ofEveryType_areWhatWasWritten_andSeen(DataType type) {
        UseWindow window = book.openWindow();
        try (MemoryWorkspace scope = open("USE_A")) {
            INDArray array = Nd4j.createUninitialized(type, 6);
            INDArray view = array.get(NDArrayIndex.interval(2, 5));
            for (int i = 0; i < 6; i++) {
                array.putScalar(i, i % 2);
            }
            Nd4j.createUninitialized(type, 6);
            for (int i = 0; i < 3; i++) {
                assertThat(view.getDouble(i)).isEqualTo(i % 2);
                assertThat(array.getInt(i)).isEqualTo(i % 2);
            }
        }
        List<ArrayLifetime> lives = window.close();
        assertThat(lives.get(0).lastUse()).isEqualTo(lives.get(lives.size() - 1).sequence());
        assertThat(lives.get(lives.size() - 1).used()).isFalse();
    }

    @Test
    void output_ofOperation_extendsItsInput() {
        UseWindow window = book.openWindow();
        List<ArrayLifetime> lives;
        try (MemoryWorkspace scope = open("USE_A")) {
            INDArray input = Nd4j.ones(DataType.FLOAT, 8, 8);
            Nd4j.nn().softmax(input, 1);
            lives = window.close();
        }
        ArrayLifetime output = lives.get(lives.size() - 1);
        assertThat(lives.get(0).lastUse()).isGreaterThanOrEqualTo(output.sequence());
    }

    @Test
    void untouchedArray_isNotUsed_andHeldToScopeEnd() {
        UseWindow window = book.openWindow();
        try (MemoryWorkspace scope = open("USE_A")) {
            Nd4j.createUninitialized(DataType.FLOAT, 64);
            Nd4j.createUninitialized(DataType.FLOAT, 64).addi(1);
        }
        List<ArrayLifetime> lives = window.close();
        assertThat(lives.get(0).used()).isFalse();
        assertThat(lives.get(0).lastUse()).isZero();
        assertThat(lives.get(0).end()).isEqualTo(lives.size() - 1);
    }

    @Test
    void spilledArray_isPartOfTheSequence() {
        UseWindow window = book.openWindow();
        try (MemoryWorkspace scope = open("USE_A")) {
            Nd4j.ones(DataType.FLOAT, 16);
            Nd4j.ones(DataType.FLOAT, 1 << 19).addi(1);
            Nd4j.ones(DataType.FLOAT, 16);
        }
        List<ArrayLifetime> lives = window.close();
        assertThat(lives).extracting(ArrayLifetime::spilled).containsExactly(false, true, false);
        assertThat(lives.get(1).used()).isTrue();
    }

    @Test
    void scopeEnd_tellsLastUseOfEachArray_beforeTheRelease() {
        EventRing ring = listen();
        try (MemoryWorkspace scope = open("USE_A")) {
            INDArray array = Nd4j.ones(DataType.FLOAT, 64);
            Nd4j.createUninitialized(DataType.FLOAT, 64);
            array.addi(1);
        }
        List<MemoryEvent> events = ring.snapshot();
        List<MemoryEvent.LastUse> told = events.stream()
                .filter(MemoryEvent.LastUse.class::isInstance)
                .map(MemoryEvent.LastUse.class::cast)
                .filter(e -> e.allocation() == AllocationKind.WORKSPACE_ARRAY)
                .toList();
        assertThat(told).extracting(MemoryEvent.LastUse::span).containsExactly(0L, 2L); // newest first
        int release = indexOf(events, MemoryEvent.ScopeRelease.class);
        assertThat(events.indexOf(told.get(1))).isLessThan(release);
    }

    @Test
    void detachedArray_closed_tellsItsLastUse() {
        EventRing ring = listen();
        INDArray array = Nd4j.createUninitialized(DataType.FLOAT, 1000);
        long address = array.data().address();
        array.addi(1);
        array.close();

        List<MemoryEvent> events = ring.snapshot().stream()
                .filter(e -> (e instanceof MemoryEvent.LastUse use && use.address() == address)
                        || (e instanceof MemoryEvent.Free free && free.address() == address))
                .toList();
        MemoryEvent beforeLast = events.get(events.size() - 2); // another array may have had the address before
        assertThat(((MemoryEvent.LastUse) beforeLast).span()).isPositive();
        assertThat(events.get(events.size() - 1)).isInstanceOf(MemoryEvent.Free.class);
    }

    @Test
    void stopped_everythingIsAsBefore() throws ReflectiveOperationException {
        assertThat(OpsFront.interposerOf(ops())).isInstanceOf(UseRecordingOps.class);
        assertThat(factory()).isInstanceOf(GuardedBufferFactory.class);

        MemoryHooks.stopRecordingUses();

        assertThat(OpsFront.interposerOf(ops())).isNotNull().isNotInstanceOf(UseRecordingOps.class);
        assertThat(factory()).isNotInstanceOf(GuardedBufferFactory.class);
        assertThat(MemoryHooks.recording().uses()).isNull();
        assertThat(Nd4j.ones(3).sumNumber().intValue()).isEqualTo(3);
        MemoryHooks.uninstall();
        assertThat(OpsFront.interposerOf(ops())).isNull();
    }

    @Test
    void recordUses_withoutHooks_isRefused() {
        MemoryHooks.uninstall();
        assertThatThrownBy(MemoryHooks::recordUses)
                .isInstanceOf(HookException.class)
                .hasMessageContaining("install()");
        assertThat(HookFailures.count()).isZero();
    }

    private EventRing listen() {
        EventRing ring = new EventRing(1 << 12);
        MemoryHooks.recording().ledger().addSink((EventSink) ring);
        return ring;
    }

    private static int indexOf(List<MemoryEvent> events, Class<?> type) {
        for (int i = 0; i < events.size(); i++) {
            if (type.isInstance(events.get(i))) {
                return i;
            }
        }
        return -1;
    }

    private static NativeOps ops() {
        return NativeOpsHolder.getInstance().getDeviceNativeOps();
    }

    private static Object factory() throws ReflectiveOperationException {
        Field field = Nd4j.class.getDeclaredField("DATA_BUFFER_FACTORY_INSTANCE");
        field.setAccessible(true);
        return field.get(null);
    }

    private static MemoryWorkspace open(String id) {
        return Nd4j.getWorkspaceManager().getAndActivateWorkspace(SMALL, id);
    }
}
