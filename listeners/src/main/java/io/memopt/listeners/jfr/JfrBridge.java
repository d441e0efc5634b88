// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.listeners.jfr;

import io.memopt.allocator.recording.MemoryLedger;
import java.util.List;
import jdk.jfr.EventType;
import jdk.jfr.FlightRecorder;
import jdk.jfr.FlightRecorderListener;
import jdk.jfr.Recording;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Attaches a {@link JfrSink} to a ledger while a Flight Recorder recording runs that switches one of our events on, e.g.
 * {@code recording.enable("io.memopt.Allocation")} or {@code jcmd <pid> JFR.start settings=<file>}. At all other times
 * nothing listens and nothing is paid; JFR itself is not started by this class.
 *
 * <p>Recordings are looked at when they start and end. Whoever changes the settings of a running one calls {@link
 * #refresh()}.
 *
 * <p>Threading: all methods may be called from any thread.
 */
public final class JfrBridge implements AutoCloseable {
    private static final Logger log = LoggerFactory.getLogger(JfrBridge.class);

    private final MemoryLedger ledger;
    private final JfrSink sink;
    private final FlightRecorderListener listener = new Listener();
    private final Object lock = new Object();
    /** Empty until the Flight Recorder is in use: asking earlier would start it. */
    private List<EventType> types = List.of();

    private boolean closed;
    private boolean attached;

    private JfrBridge(MemoryLedger ledger) {
        this.ledger = ledger;
        this.sink = new JfrSink(ledger.owners());
    }

    /** Watches the Flight Recorder on behalf of {@code ledger} until closed. A JVM without JFR gives an idle bridge. */
    public static JfrBridge open(MemoryLedger ledger) {
        JfrBridge bridge = new JfrBridge(ledger);
        if (FlightRecorder.isAvailable()) {
            FlightRecorder.addListener(bridge.listener);
        } else {
            log.debug("This JVM has no Flight Recorder: no io.memopt events");
        }
        return bridge;
    }

    /** Looks again at what the running recordings want. */
    public void refresh() {
        synchronized (lock) {
            boolean attach = !closed && types.stream().anyMatch(EventType::isEnabled);
            if (attach && !attached) {
                ledger.addSink(sink);
            } else if (!attach && attached) {
                ledger.removeSink(sink);
            }
            attached = attach;
        }
    }

    /** True while events go to a recording. */
    public boolean isAttached() {
        synchronized (lock) {
            return attached;
        }
    }

    /** Stops watching; running recordings hear no more. Further calls do nothing. */
    @Override
    public void close() {
        synchronized (lock) {
            if (closed) {
                return;
            }
            closed = true;
        }
        if (FlightRecorder.isAvailable()) {
            FlightRecorder.removeListener(listener);
        }
        refresh();
    }

    private final class Listener implements FlightRecorderListener {
        @Override
        public void recorderInitialized(FlightRecorder recorder) {
            JfrTypes.ALL.forEach(FlightRecorder::register);
            List<EventType> registered =
                    JfrTypes.ALL.stream().map(EventType::getEventType).toList();
            synchronized (lock) {
                types = registered;
            }
            refresh();
        }

        @Override
        public void recordingStateChanged(Recording recording) {
            refresh();
        }
    }
}
