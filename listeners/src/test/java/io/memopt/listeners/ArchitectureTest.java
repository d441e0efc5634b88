// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.listeners;

import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.classes;
import static com.tngtech.archunit.library.dependencies.SlicesRuleDefinition.slices;

import com.tngtech.archunit.core.importer.ImportOption;
import com.tngtech.archunit.junit.AnalyzeClasses;
import com.tngtech.archunit.junit.ArchTest;
import com.tngtech.archunit.lang.ArchRule;
import java.util.ArrayList;
import java.util.List;

/** Holds the package map: which package may import which. A new package needs a rule here. */
@AnalyzeClasses(packages = "io.memopt.listeners", importOptions = ImportOption.DoNotIncludeTests.class)
class ArchitectureTest {
    private static final String EVENT = "io.memopt.allocator.event..";
    private static final String RECORDING = "io.memopt.allocator.recording..";
    /** Layers and phases are told from the scopes that the hooks see. */
    private static final String HOOKS = "io.memopt.allocator.nd4j..";

    private static final String TRAINING = "io.memopt.listeners.training..";
    private static final String METRICS = "io.memopt.listeners.metrics..";
    private static final String PROMETHEUS = "io.memopt.listeners.prometheus..";
    private static final String JFR = "io.memopt.listeners.jfr..";
    private static final String TRACE = "io.memopt.listeners.trace..";
    private static final String DL4J = "org.deeplearning4j..";
    private static final String ND4J_LIBRARY = "org.nd4j..";
    private static final String MICROMETER = "io.micrometer..";
    private static final String PROMETHEUS_CLIENT = "io.prometheus..";

    /** Allowed everywhere; the empty name is the package of primitives and their arrays. */
    private static final List<String> BASE = List.of(
            "",
            "java..",
            "javax..",
            "jdk..",
            "com.sun.management..",
            "com.sun.net.httpserver..",
            "org.slf4j..",
            "org.jspecify..");

    @ArchTest
    static final ArchRule training = onlyImports(TRAINING, EVENT, RECORDING, HOOKS, DL4J, ND4J_LIBRARY);

    @ArchTest
    static final ArchRule metrics = onlyImports(METRICS, EVENT, RECORDING, MICROMETER);

    @ArchTest
    static final ArchRule prometheus = onlyImports(PROMETHEUS, METRICS, MICROMETER, PROMETHEUS_CLIENT);

    @ArchTest
    static final ArchRule jfr = onlyImports(JFR, EVENT, RECORDING);

    @ArchTest
    static final ArchRule trace = onlyImports(TRACE, EVENT, RECORDING);

    @ArchTest
    static final ArchRule everyPackageHasARule = classes()
            .that()
            .resideInAPackage("io.memopt.listeners..")
            .should()
            .resideInAnyPackage(TRAINING, METRICS, PROMETHEUS, JFR, TRACE)
            .allowEmptyShould(true);

    @ArchTest
    static final ArchRule noCycles = slices().matching("io.memopt.listeners.(*)..")
            .should()
            .beFreeOfCycles()
            .allowEmptyShould(true);

    private static ArchRule onlyImports(String subject, String... imports) {
        List<String> allowed = new ArrayList<>(BASE);
        allowed.add(subject);
        allowed.addAll(List.of(imports));
        return classes()
                .that()
                .resideInAPackage(subject)
                .should()
                .onlyDependOnClassesThat()
                .resideInAnyPackage(allowed.toArray(String[]::new))
                .allowEmptyShould(true);
    }
}
