// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.allocator.nd4j;

import io.memopt.allocator.reuse.NetworkWorkspaces;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import org.jspecify.annotations.Nullable;
import org.nd4j.linalg.api.memory.MemoryWorkspace;
import org.nd4j.linalg.api.memory.MemoryWorkspaceManager;
import org.nd4j.linalg.exception.ND4JIllegalStateException;
import org.nd4j.linalg.factory.Nd4j;

/**
 * Where a bidirectional layer puts its reversed input. Deeplearning4j 1.0.0-M2.1 puts it beside the input; where that is a minibatch,
 * i.e. outside workspaces, two arrays of the input's size are left to the Java collector by every pass. While this is in use they lie
 * in the workspace of the pass, as with any other input, and end with it.
 *
 * <p>Only a layer's inner layer sees these arrays, and it needs them until its backward pass. Passes without workspaces, and inference,
 * are left alone. Threading: safe.
 */
public final class ReversedInputs {
    private static final String LAYER = "org.deeplearning4j.nn.layers.recurrent.BidirectionalLayer";
    private static final String METHOD = "setInput";
    /** Innermost first. */
    private static final List<String> PASSES = List.of(NetworkWorkspaces.SEGMENT, CategoryRules.ALL_LAYERS_ACT);

    private static final StackWalker STACK = StackWalker.getInstance();

    private final AtomicInteger users = new AtomicInteger();

    ReversedInputs() {}

    /** One more uses this. */
    public void begin() {
        users.incrementAndGet();
    }

    /** Ends one {@link #begin}. */
    public void end() {
        users.decrementAndGet();
    }

    /** The scope in the place of one outside workspaces that the caller of the calling method asked for; null for none. */
    @Nullable
    MemoryWorkspace scope(MemoryWorkspaceManager manager) {
        if (users.get() <= 0 || Nd4j.getMemoryManager().getCurrentWorkspace() == null) {
            return null;
        }
        for (String pass : PASSES) {
            if (manager.checkIfWorkspaceExistsAndActive(pass)) {
                return isReversing() ? borrow(manager.getWorkspaceForCurrentThread(pass)) : null;
            }
        }
        return null;
    }

    private static @Nullable MemoryWorkspace borrow(MemoryWorkspace pass) {
        try {
            return pass.notifyScopeBorrowed();
        } catch (ND4JIllegalStateException e) {
            return null; // lent already
        }
    }

    /** Past this class and the manager's method. */
    private static boolean isReversing() {
        return STACK.walk(frames -> frames.filter(frame -> !frame.getClassName().equals(ReversedInputs.class.getName()))
                .skip(1)
                .findFirst()
                .map(caller -> caller.getClassName().equals(LAYER)
                        && caller.getMethodName().equals(METHOD))
                .orElse(false));
    }
}
