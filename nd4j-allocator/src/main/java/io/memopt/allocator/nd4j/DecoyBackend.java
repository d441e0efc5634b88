// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.allocator.nd4j;

import org.nd4j.common.io.Resource;
import org.nd4j.linalg.factory.Environment;
import org.nd4j.linalg.factory.Nd4jBackend;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Never a backend: a provider that ND4J instantiates while it looks for one, and that uses the moment to name our
 * workspace manager in the system property {@code workspacemanager}, which ND4J reads after its choice. This is how the
 * dependency alone is enough to see every byte from the start.
 *
 * <p>Does nothing when the user has set that property, or switched it off by {@link Settings}. Must never throw: ND4J
 * 1.0.0-M2.1 loads no backend at all when a provider's constructor does.
 */
public final class DecoyBackend extends Nd4jBackend {
    private static final Logger log = LoggerFactory.getLogger(DecoyBackend.class);
    private static final String PROPERTY = "workspacemanager";
    private static final String CPU_BACKEND = "org.nd4j.linalg.cpu.nativecpu.CpuBackend";
    private static final String CUDA_BACKEND = "org.nd4j.linalg.jcublas.JCublasBackend";
    private static final int BELOW_ALL = -1_000_000;

    /** Called by {@link java.util.ServiceLoader}. */
    public DecoyBackend() {
        try {
            nameManager();
        } catch (RuntimeException | LinkageError e) {
            log.warn("Memory is recorded from the first attach on, not from ND4J's start: {}", e.toString());
        }
    }

    private static void nameManager() {
        Settings.check();
        if (!Settings.early()) {
            return;
        }
        String users = System.getProperty(PROPERTY);
        String ours = managerFor(isAvailable(CUDA_BACKEND), exists(CPU_BACKEND));
        if (users != null && !MemoryHooks.isOurs(users)) {
            log.warn(
                    "System property {}={} is respected: bytes are counted from the first attach on, but not by workspace,"
                            + " layer and phase.",
                    PROPERTY,
                    users);
        } else if (!ours.isEmpty()) {
            System.setProperty(PROPERTY, ours);
        }
    }

    private static String managerFor(boolean cuda, boolean cpu) {
        String own = DecoyBackend.class.getPackageName();
        return cuda ? own + ".TrackingCudaWorkspaceManager" : cpu ? own + ".TrackingCpuWorkspaceManager" : "";
    }

    private static boolean exists(String type) {
        return DecoyBackend.class.getClassLoader().getResource(type.replace('.', '/') + ".class") != null;
    }

    /** Asks the backend itself, as ND4J is about to. */
    private static boolean isAvailable(String type) {
        if (!exists(type)) {
            return false;
        }
        try {
            return Class.forName(type)
                    .asSubclass(Nd4jBackend.class)
                    .getDeclaredConstructor()
                    .newInstance()
                    .isAvailable();
        } catch (ReflectiveOperationException | RuntimeException | LinkageError e) {
            return false;
        }
    }

    @Override
    public boolean allowsOrder() {
        return false;
    }

    @Override
    public int getPriority() {
        return BELOW_ALL;
    }

    @Override
    public boolean isAvailable() {
        return false;
    }

    @Override
    public boolean canRun() {
        return false;
    }

    @Override
    public Resource getConfigurationResource() {
        throw new UnsupportedOperationException("DecoyBackend is never chosen");
    }

    @Override
    @SuppressWarnings("rawtypes")
    public Class getNDArrayClass() {
        throw new UnsupportedOperationException("DecoyBackend is never chosen");
    }

    @Override
    public Environment getEnvironment() {
        throw new UnsupportedOperationException("DecoyBackend is never chosen");
    }

    @Override
    public String buildInfo() {
        return "";
    }

    @Override
    public void logBackendInit() {
        // Never chosen, so there is nothing to say.
    }
}
