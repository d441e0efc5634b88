// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.analysis;

import io.memopt.allocator.event.MemorySpace;
import io.memopt.allocator.event.Owner;

/**
 * How the bytes of one owner changed from step to step.
 *
 * <p>The slope is Theil's and Sen's: the median of the slopes of all pairs of samples, which a few outliers do not move. The
 * interval follows from Kendall's S with correction for ties (P. K. Sen, Estimates of the Regression Coefficient Based on
 * Kendall's Tau, J. Am. Stat. Assoc. 63 (1968) 1379-1389, doi:10.1080/01621459.1968.10480934). Samples at equal distances,
 * at most {@link AnalysisOptions#maxGrowthSamples()}.
 *
 * @param step what one step is
 * @param samples number of samples
 * @param firstBytes in use at the first sample
 * @param lastBytes in use at the last sample
 * @param bytesPerStep slope
 * @param lowBytesPerStep lower end of the 95 % interval of the slope
 * @param highBytesPerStep upper end
 * @param site code that made most of the owner's detached bytes live at the end; empty when unknown
 */
public record Growth(
        Owner owner,
        MemorySpace space,
        Step step,
        int samples,
        long firstBytes,
        long lastBytes,
        double bytesPerStep,
        double lowBytesPerStep,
        double highBytesPerStep,
        String site) {

    /** Unit of the slope. */
    public enum Step {
        /** A training iteration. */
        ITERATION,
        /** A forward pass outside training; used when the trace has no training iteration. */
        PASS
    }

    /** True when the whole interval is above zero. */
    public boolean isSignificant() {
        return lowBytesPerStep > 0;
    }
}
