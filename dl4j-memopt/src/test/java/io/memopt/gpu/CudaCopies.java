// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.gpu;

import io.memopt.data.PrefetchDataSetIterator;
import io.memopt.data.PrefetchOptions;
import io.memopt.data.PrefetchStatistics;
import java.io.IOException;
import java.io.PrintWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Locale;
import org.bytedeco.cuda.cudart.CUevent_st;
import org.bytedeco.cuda.cudart.CUstream_st;
import org.bytedeco.cuda.global.cudart;
import org.bytedeco.javacpp.BytePointer;
import org.bytedeco.javacpp.Pointer;
import org.nd4j.linalg.dataset.DataSet;
import org.nd4j.linalg.factory.Nd4j;

/**
 * How fast data gets from the host to a GPU, step by step; a program, because the tests' class path has none: page-locked memory
 * in pieces of several sizes, timed by events of the device; what it costs to bring data into page-locked memory; both together
 * as a prefetching iterator does it, with large batches and several threads.
 *
 * <p>Argument: folder for {@code copies.txt}.
 */
public final class CudaCopies {
    private static final long MIB = 1 << 20;
    private static final long WHOLE = 256 * MIB;
    private static final int[] PIECES_MIB = {1, 4, 8, 16, 64, 256};
    private static final int REPEATS = 8;
    private static final int BATCH = 128;
    private static final int BATCHES = 12;

    private final PrintWriter out;

    private CudaCopies(PrintWriter out) {
        this.out = out;
    }

    public static void main(String[] arguments) throws IOException {
        Path folder = Files.createDirectories(Path.of(arguments.length > 0 ? arguments[0] : "."));
        try (PrintWriter file = new PrintWriter(Files.newBufferedWriter(folder.resolve("copies.txt")))) {
            CudaCopies program = new CudaCopies(file);
            Nd4j.create(1).addi(1);
            program.pieces();
            for (int threads : new int[] {1, 2, 4}) {
                program.prefetch(threads);
            }
        }
    }

    private void pieces() {
        Pointer device = new Pointer();
        BytePointer pinned = new BytePointer();
        check("cudaMalloc", cudart.cudaMalloc(device, WHOLE));
        check("cudaMallocHost", cudart.cudaMallocHost(pinned, WHOLE));
        BytePointer pageable = new BytePointer(WHOLE);
        Pointer.memset(pageable, 1, WHOLE);
        double ceiling = rate(device, pinned, WHOLE);
        print("page-locked to device, %d MiB at once: %.1f GB/s", WHOLE / MIB, ceiling);
        for (int piece : PIECES_MIB) {
            double rate = rate(device, pinned, piece * MIB);
            print(
                    "page-locked to device in pieces of %d MiB: %.1f GB/s, %.1f %% of the ceiling",
                    piece, rate, 100 * rate / ceiling);
        }
        print("pageable to device in pieces of 4 MiB: %.1f GB/s", rate(device, pageable, 4 * MIB));
        long best = Long.MAX_VALUE;
        for (int i = 0; i < REPEATS; i++) {
            long start = System.nanoTime();
            Pointer.memcpy(pinned, pageable, WHOLE);
            best = Math.min(best, System.nanoTime() - start);
        }
        print("pageable to page-locked by one thread: %.1f GB/s", WHOLE / (double) best);
        cudart.cudaFree(device);
        cudart.cudaFreeHost(pinned);
    }

    /** GB/s of the fastest of several rounds, by events on the stream. */
    private static double rate(Pointer device, Pointer host, long piece) {
        CUstream_st stream = new CUstream_st();
        CUevent_st begin = new CUevent_st();
        CUevent_st end = new CUevent_st();
        check("cudaStreamCreate", cudart.cudaStreamCreate(stream));
        check("cudaEventCreate", cudart.cudaEventCreate(begin));
        check("cudaEventCreate", cudart.cudaEventCreate(end));
        float best = Float.MAX_VALUE;
        for (int i = 0; i < REPEATS; i++) {
            cudart.cudaEventRecord(begin, stream);
            for (long done = 0; done < WHOLE; done += piece) {
                check("cudaMemcpyAsync", cudart.cudaMemcpyAsync(at(device, done), at(host, done), piece, 1, stream));
            }
            cudart.cudaEventRecord(end, stream);
            check("cudaStreamSynchronize", cudart.cudaStreamSynchronize(stream));
            float[] millis = new float[1];
            check("cudaEventElapsedTime", cudart.cudaEventElapsedTime(millis, begin, end));
            best = Math.min(best, millis[0]);
        }
        cudart.cudaStreamDestroy(stream);
        return WHOLE / (best * 1e6);
    }

    /** Nothing is computed: batches of 73.5 MiB as fast as they come. */
    private void prefetch(int threads) {
        DataSet[] made = new DataSet[BATCHES];
        PrefetchOptions options = PrefetchOptions.DEFAULTS.withThreads(threads).withCloseUsed(true);
        HostBatches base = new HostBatches(BATCHES, i -> made[i]);
        for (int i = 0; i < BATCHES; i++) {
            made[i] = HostBatches.images(i, 10, BATCH, 3, 224, 224);
        }
        long start = System.nanoTime();
        try (PrefetchDataSetIterator data = new PrefetchDataSetIterator(base, options)) {
            while (data.hasNext()) {
                data.next();
            }
            Nd4j.getExecutioner().commit();
            PrefetchStatistics told = data.statistics();
            print(
                    "prefetching iterator, %d threads, batches of %.1f MiB: %.1f GB/s together, %.1f GB/s a thread; %s",
                    threads,
                    BATCH * 3 * 224 * 224 * 4 / (double) MIB,
                    told.uploadedBytes() / (double) (System.nanoTime() - start),
                    told.uploadedBytes() / (double) Math.max(1, told.uploadNanos()),
                    told);
        } catch (RuntimeException | LinkageError e) {
            print("FAILED prefetching: %s", e);
        }
    }

    private static Pointer at(Pointer base, long offset) {
        return new BytePointer(base) {
            {
                address = base.address() + offset;
            }
        };
    }

    private static void check(String call, int result) {
        if (result != 0) {
            throw new IllegalStateException(call + " failed: " + result);
        }
    }

    private void print(String format, Object... values) {
        String line = String.format(Locale.ROOT, format, values);
        System.out.println(line);
        out.println(line);
        out.flush();
    }
}
