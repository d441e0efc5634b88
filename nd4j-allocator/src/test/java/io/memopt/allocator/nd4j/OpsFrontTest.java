// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.allocator.nd4j;

import static org.assertj.core.api.Assertions.assertThat;

import io.memopt.allocator.event.OwnerTable;
import io.memopt.allocator.event.WorkspaceTable;
import io.memopt.allocator.recording.MemoryLedger;
import io.memopt.allocator.use.UseBook;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.nd4j.linalg.factory.Nd4j;
import org.nd4j.nativeblas.NativeOps;
import org.nd4j.nativeblas.NativeOpsHolder;

class OpsFrontTest {
    private final MemoryLedger ledger =
            new MemoryLedger(new OwnerTable(), new WorkspaceTable(), owner -> owner.category());
    private NativeOps original;

    @BeforeEach
    void plain() {
        Nd4j.getExecutioner();
        MemoryHooks.uninstall();
        original = NativeOpsHolder.getInstance().getDeviceNativeOps();
    }

    @AfterEach
    void uninstall() {
        MemoryHooks.uninstall();
    }

    @Test
    void installed_frontExtendsNd4jsOwnClass_andUninstalledIsTheOriginal() {
        MemoryHooks.install();
        NativeOps front = NativeOpsHolder.getInstance().getDeviceNativeOps();

        assertThat(front).isInstanceOf(OpsFront.class).isInstanceOf(original.getClass());

        MemoryHooks.uninstall();
        assertThat(NativeOpsHolder.getInstance().getDeviceNativeOps()).isSameAs(original);
    }

    /** Whatever the interposer has code for must reach it: a forgotten method would be a blind spot. */
    @Test
    void front_overridesExactlyWhatIsBooked() throws ReflectiveOperationException {
        List<String> plain = overridden(InterposerFactory.interpose(original, ledger, false));
        List<String> recording = overridden(InterposerFactory.interpose(original, ledger, false, new UseBook(ledger)));

        for (Method method : NativeOpsInterposer.class.getDeclaredMethods()) {
            if (isOfNativeOps(method) && !method.getName().equals(NativeOpsInterposer.OPERATION)) {
                assertThat(plain).contains(method.getName());
            }
        }
        assertThat(plain)
                .contains("mallocHost", "memcpyAsync", "dbClose")
                .doesNotContain("execTransformSame", "dbPrimaryBuffer", "dbCreateExternalDataBuffer", "execCustomOp2");
        assertThat(recording)
                .containsAll(plain)
                .contains("execCustomOp2", "execTransformSame", "execReduceFloat2", "dbPrimaryBuffer");
    }

    @Test
    void front_whileTemporariesAreMeasured_hasOperationsToo() throws ReflectiveOperationException {
        MemoryHooks.measureTemporaries();
        try {
            assertThat(overridden(InterposerFactory.interpose(original, ledger, false)))
                    .contains(NativeOpsInterposer.OPERATION);
        } finally {
            MemoryHooks.stopMeasuringTemporaries();
        }
    }

    @Test
    void streamSynchronize_ofTheInstalledFront_isCounted() {
        MemoryLedger installed = MemoryHooks.install().ledger();

        NativeOpsHolder.getInstance().getDeviceNativeOps().streamSynchronize(null);

        assertThat(installed.flows().synchronizations()).isEqualTo(1);
    }

    /** The class of a proxy is final. */
    @Test
    void opsOfAFinalClass_areForwardedOneByOne() throws ReflectiveOperationException {
        List<String> calls = new ArrayList<>();
        NativeOps proxy = (NativeOps) Proxy.newProxyInstance(
                NativeOps.class.getClassLoader(), new Class<?>[] {NativeOps.class}, (self, method, arguments) -> {
                    calls.add(method.getName());
                    return method.invoke(original, arguments);
                });

        NativeOps ops = InterposerFactory.interpose(proxy, ledger, false);

        assertThat(ops).isInstanceOf(NativeOpsInterposer.class);
        assertThat(ops.ompGetMaxThreads()).isEqualTo(original.ompGetMaxThreads());
        assertThat(calls).containsExactly("ompGetMaxThreads");
    }

    private static List<String> overridden(NativeOps ops) {
        return Arrays.stream(ops.getClass().getDeclaredMethods())
                .map(Method::getName)
                .toList();
    }

    private static boolean isOfNativeOps(Method method) {
        try {
            NativeOps.class.getMethod(method.getName(), method.getParameterTypes());
            return true;
        } catch (NoSuchMethodException e) {
            return false;
        }
    }
}
