// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.strategy;

import io.memopt.allocator.cuda.DeviceUsages;
import io.memopt.allocator.event.MemorySpace;
import io.memopt.allocator.nd4j.Nd4jFacts;
import io.memopt.allocator.pool.DeviceReconciliation;
import io.memopt.allocator.pool.DeviceUsage;
import io.memopt.allocator.pool.PoolStatistics;
import io.memopt.allocator.recording.ByteSize;
import io.memopt.allocator.recording.MemoryLedger;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ConcurrentSkipListMap;
import java.util.function.Supplier;
import java.util.stream.Collectors;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Explains the driver's figure of device memory by what took it: arrays, by the ledger; what pools hold beyond; the context, as it
 * was at the beginning; and libraries, by what the figure grew while they were first used.
 *
 * <p>Threading: safe.
 */
public final class DeviceAccounts {
    private static final Logger log = LoggerFactory.getLogger(DeviceAccounts.class);

    private final MemoryLedger ledger;
    private final Supplier<DeviceUsage> driver;
    private final long contextBytes;
    private final Map<String, Long> libraries = new ConcurrentSkipListMap<>();

    private DeviceAccounts(MemoryLedger ledger, Supplier<DeviceUsage> driver) {
        this.ledger = ledger;
        this.driver = driver;
        this.contextBytes = beyondArrays();
    }

    /**
     * Begins now; arrays that the ledger does not know, because hooks came late, count as context.
     *
     * @return empty where there is no GPU, or its driver does not answer
     */
    public static Optional<DeviceAccounts> begin(MemoryLedger ledger) {
        if (!Nd4jFacts.isCuda()) {
            return Optional.empty();
        }
        try {
            return Optional.of(begin(ledger, DeviceUsages::now));
        } catch (RuntimeException | LinkageError e) {
            log.info("Device memory is not compared with the driver's figure: {}", e.toString());
            return Optional.empty();
        }
    }

    static DeviceAccounts begin(MemoryLedger ledger, Supplier<DeviceUsage> driver) {
        return new DeviceAccounts(ledger, driver);
    }

    /** Does {@code first}, which is the first use of {@code library}, and books for it what memory that takes. */
    public <T> T firstUse(String library, Supplier<T> first) {
        long before = beyondArrays();
        T result = first.get();
        libraries.merge(library, Math.max(0, beyondArrays() - before), Long::sum);
        return result;
    }

    /** Figures of this moment. */
    public DeviceReconciliation now(PoolStatistics pool) {
        return new DeviceReconciliation(
                driver.get(), ledger.reservedBytes(MemorySpace.DEVICE), pool, contextBytes, libraries);
    }

    /** As {@link #now}, for people. */
    public String note(PoolStatistics pool) {
        DeviceReconciliation now = now(pool);
        return "Device memory by the driver: " + ByteSize.format(now.usage().usedBytes()) + " in use: "
                + now.parts().entrySet().stream()
                        .map(part -> part.getKey().replace('_', ' ') + " " + signed(part.getValue()))
                        .collect(Collectors.joining(", "))
                + (now.usage().processBytes().isPresent()
                        ? "."
                        : ". It does not tell processes apart: others are in the context.");
    }

    private static String signed(long bytes) {
        return bytes < 0 ? "-" + ByteSize.format(-bytes) : ByteSize.format(bytes);
    }

    private long beyondArrays() {
        return driver.get().attributableBytes() - ledger.reservedBytes(MemorySpace.DEVICE);
    }
}
