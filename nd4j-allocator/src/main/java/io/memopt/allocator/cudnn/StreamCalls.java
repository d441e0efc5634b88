// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.allocator.cudnn;

import org.bytedeco.javacpp.Pointer;

/**
 * One pass of one convolution on a stream: {@code x}, {@code w} and {@code y} are input, weights and output or the gradients
 * with respect to them; the pass says which is written.
 */
abstract class StreamCalls implements ConvolutionCalls {
    final CudnnStream stream;
    final ConvolutionShape shape;
    final ConvolutionPass pass;
    final Pointer x;
    final Pointer w;
    final Pointer y;

    StreamCalls(CudnnStream stream, ConvolutionShape shape, ConvolutionPass pass, Pointer x, Pointer w, Pointer y) {
        this.stream = stream;
        this.shape = shape;
        this.pass = pass;
        this.x = x;
        this.w = w;
        this.y = y;
    }

    @Override
    public final ConvolutionShape shape() {
        return shape;
    }

    @Override
    public final ConvolutionPass pass() {
        return pass;
    }

    @Override
    public final boolean hasRoom(long bytes) {
        return stream.scratch.hasRoom(bytes);
    }

    @Override
    public final void await() {
        stream.await();
    }
}
