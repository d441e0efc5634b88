// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.allocator.recording;

import com.sun.management.GarbageCollectionNotificationInfo;
import java.lang.management.GarbageCollectorMXBean;
import java.lang.management.ManagementFactory;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.atomic.AtomicLong;
import javax.management.ListenerNotFoundException;
import javax.management.Notification;
import javax.management.NotificationEmitter;
import javax.management.NotificationListener;
import javax.management.openmbean.CompositeData;

/**
 * Tells the books of every Java garbage collection, and whether someone forced it by {@link System#gc()}, as ND4J and
 * JavaCPP do when memory runs out. Watch a ledger once, or its counts double.
 *
 * <p>What one call of {@link System#gc()} costs is counted as one collection with every collector: the young collection
 * by which the parallel one starts is added to the full one that follows. Durations have the JVM's resolution, 1 ms; for
 * concurrent collectors (ZGC, Shenandoah) they are those of the whole cycle, not of the pauses.
 *
 * <p>Threading: listeners are called on the JVM's notification thread, some time after the collection.
 */
public final class GarbageCollectionWatch implements AutoCloseable {
    private static final String FORCED = "System.gc()";
    private static final String PAUSE = "end of GC pause";
    private static final String PARALLEL_YOUNG = "PS Scavenge";

    private final MemoryLedger ledger;
    private final List<Listener> listeners = new CopyOnWriteArrayList<>();
    private final List<NotificationEmitter> emitters = new ArrayList<>();
    private final NotificationListener subscription = (notification, handback) -> heard(notification);
    private final AtomicLong pendingMillis = new AtomicLong();

    /** A watch that no collector knows. */
    GarbageCollectionWatch(MemoryLedger ledger) {
        this.ledger = ledger;
    }

    /** Hears of each collection, after the books do. Must not throw. */
    @FunctionalInterface
    public interface Listener {
        void collected(boolean forced, long nanos);
    }

    /** Starts to report collections to {@code ledger}. */
    public static GarbageCollectionWatch start(MemoryLedger ledger) {
        GarbageCollectionWatch watch = new GarbageCollectionWatch(ledger);
        for (GarbageCollectorMXBean bean : ManagementFactory.getGarbageCollectorMXBeans()) {
            if (bean instanceof NotificationEmitter emitter) {
                emitter.addNotificationListener(watch.subscription, null, null);
                watch.emitters.add(emitter);
            }
        }
        return watch;
    }

    public void addListener(Listener listener) {
        listeners.add(listener);
    }

    public void removeListener(Listener listener) {
        listeners.remove(listener);
    }

    /** Stops. Collections that the JVM has not told of yet are not reported. Closing again does nothing. */
    @Override
    public synchronized void close() {
        for (NotificationEmitter emitter : emitters) {
            try {
                emitter.removeNotificationListener(subscription);
            } catch (ListenerNotFoundException e) {
                // Somebody removed it: what was wanted.
            }
        }
        emitters.clear();
    }

    private void heard(Notification notification) {
        if (notification.getType().equals(GarbageCollectionNotificationInfo.GARBAGE_COLLECTION_NOTIFICATION)) {
            GarbageCollectionNotificationInfo info =
                    GarbageCollectionNotificationInfo.from((CompositeData) notification.getUserData());
            collected(
                    info.getGcName(),
                    info.getGcAction(),
                    info.getGcCause(),
                    info.getGcInfo().getDuration());
        }
    }

    void collected(String collector, String action, String cause, long millis) {
        boolean forced = cause.equals(FORCED);
        if (action.equals(PAUSE)) {
            return; // the cycle that the pause belongs to is told of, too
        }
        if (forced && collector.equals(PARALLEL_YOUNG)) {
            pendingMillis.addAndGet(millis);
            return;
        }
        long nanos = (millis + (forced ? pendingMillis.getAndSet(0) : 0)) * 1_000_000;
        ledger.garbageCollected(forced, nanos);
        for (Listener listener : listeners) {
            listener.collected(forced, nanos);
        }
    }
}
