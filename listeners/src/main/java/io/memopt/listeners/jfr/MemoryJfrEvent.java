// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.listeners.jfr;

import io.memopt.allocator.event.Owner;
import jdk.jfr.Category;
import jdk.jfr.Enabled;
import jdk.jfr.Event;
import jdk.jfr.Label;
import jdk.jfr.Registered;
import jdk.jfr.StackTrace;

/**
 * What all events have in common: for whom. Off unless a recording asks, and without stack traces unless it asks for those
 * too ({@code io.memopt.Allocation#stackTrace=true}).
 */
@Category("Memopt")
@Enabled(false)
@StackTrace(false)
@Registered(false)
abstract class MemoryJfrEvent extends Event {
    @Label("Network")
    String network = "";

    @Label("Layer")
    String layer = "";

    @Label("Phase")
    String phase = "";

    @Label("Category")
    String category = "";

    @Label("Workspace")
    String workspace = "";

    void ownedBy(Owner owner) {
        network = owner.network();
        layer = owner.layer();
        phase = owner.phase().name();
        category = owner.category().name();
        workspace = owner.workspace();
    }
}
