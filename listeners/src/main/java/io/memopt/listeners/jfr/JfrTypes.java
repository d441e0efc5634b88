// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.listeners.jfr;

import java.util.List;
import jdk.jfr.DataAmount;
import jdk.jfr.Description;
import jdk.jfr.Event;
import jdk.jfr.Label;
import jdk.jfr.Name;
import jdk.jfr.Registered;
import jdk.jfr.Timespan;

/** The event types. Names and fields are what users write in settings and queries: append only. */
final class JfrTypes {
    static final List<Class<? extends Event>> ALL = List.of(
            Allocation.class,
            Free.class,
            Transfer.class,
            ScopeEnter.class,
            ScopeRelease.class,
            Iteration.class,
            AllocationFailure.class);

    private JfrTypes() {}

    @Name("io.memopt.Allocation")
    @Label("ND4J Allocation")
    @Description("Bytes became live")
    @Registered
    static final class Allocation extends MemoryJfrEvent {
        @Label("Kind")
        String kind = "";

        @Label("Space")
        String space = "";

        @Label("Address")
        long address;

        @Label("Requested")
        @DataAmount(DataAmount.BYTES)
        long requestedBytes;

        @Label("Rounded")
        @Description("Bytes really taken")
        @DataAmount(DataAmount.BYTES)
        long roundedBytes;
    }

    @Name("io.memopt.Free")
    @Label("ND4J Free")
    @Description("Memory of its own was given back; arrays in workspaces end with io.memopt.ScopeRelease")
    @Registered
    static final class Free extends MemoryJfrEvent {
        @Label("Kind")
        String kind = "";

        @Label("Space")
        String space = "";

        @Label("Address")
        long address;

        @Label("Rounded")
        @DataAmount(DataAmount.BYTES)
        long roundedBytes;

        @Label("Age")
        @Description("Time since the allocation")
        @Timespan(Timespan.NANOSECONDS)
        long age;
    }

    @Name("io.memopt.Transfer")
    @Label("ND4J Transfer")
    @Description("A copy between memories")
    @Registered
    static final class Transfer extends MemoryJfrEvent {
        @Label("Direction")
        String direction = "";

        @Label("Bytes")
        @DataAmount(DataAmount.BYTES)
        long bytes;

        @Label("Waited")
        @Description("How long the caller waited")
        @Timespan(Timespan.NANOSECONDS)
        long waited;
    }

    @Name("io.memopt.ScopeEnter")
    @Label("ND4J Scope Entered")
    @Description("A workspace scope was opened")
    @Registered
    static final class ScopeEnter extends MemoryJfrEvent {
        @Label("Generation")
        long generation;

        @Label("Reserved")
        @DataAmount(DataAmount.BYTES)
        long reservedBytes;
    }

    @Name("io.memopt.ScopeRelease")
    @Label("ND4J Scope Released")
    @Description("All arrays of a workspace ended")
    @Registered
    static final class ScopeRelease extends MemoryJfrEvent {
        @Label("Arrays")
        @DataAmount(DataAmount.BYTES)
        long arrayBytes;

        @Label("Reserved")
        @DataAmount(DataAmount.BYTES)
        long reservedBytes;
    }

    @Name("io.memopt.Iteration")
    @Label("Training Iteration")
    @Description("A training iteration ended")
    @Registered
    static final class Iteration extends MemoryJfrEvent {
        @Label("Iteration")
        long iteration;

        @Label("Epoch")
        long epoch;
    }

    @Name("io.memopt.AllocationFailure")
    @Label("ND4J Allocation Failure")
    @Description("The operating system or driver refused memory")
    @Registered
    static final class AllocationFailure extends MemoryJfrEvent {
        @Label("Space")
        String space = "";

        @Label("Requested")
        @DataAmount(DataAmount.BYTES)
        long requestedBytes;
    }
}
