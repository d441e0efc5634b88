// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt;

import static com.tngtech.archunit.base.DescribedPredicate.not;
import static com.tngtech.archunit.core.domain.JavaClass.Predicates.equivalentTo;
import static com.tngtech.archunit.core.domain.JavaClass.Predicates.resideInAPackage;
import static com.tngtech.archunit.core.domain.JavaClass.Predicates.resideOutsideOfPackages;
import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.classes;
import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.noClasses;
import static com.tngtech.archunit.library.dependencies.SlicesRuleDefinition.slices;

import com.tngtech.archunit.core.importer.ImportOption;
import com.tngtech.archunit.junit.AnalyzeClasses;
import com.tngtech.archunit.junit.ArchTest;
import com.tngtech.archunit.lang.ArchRule;
import io.memopt.allocator.reuse.NetworkWorkspaces;
import java.util.ArrayList;
import java.util.List;

/** Holds the package map: which package may import which. A new package needs a rule here. */
@AnalyzeClasses(packages = "io.memopt", importOptions = ImportOption.DoNotIncludeTests.class)
class ArchitectureTest {
    private static final String ENTRY = "io.memopt";
    private static final String ALLOCATOR = "io.memopt.allocator..";
    private static final String EVENT = "io.memopt.allocator.event..";
    private static final String PLAN = "io.memopt.allocator.plan..";
    private static final String RECORDING = "io.memopt.allocator.recording..";
    private static final String REUSE = "io.memopt.allocator.reuse..";
    private static final String LISTENERS = "io.memopt.listeners..";
    private static final String ANALYSIS = "io.memopt.analysis..";
    private static final String STRATEGY = "io.memopt.strategy..";
    private static final String FIT = "io.memopt.fit..";
    private static final String DATA = "io.memopt.data..";
    private static final String OOM = "io.memopt.oom..";
    private static final String GUARD = "io.memopt.guard..";
    private static final String VERIFY = "io.memopt.verify..";
    private static final String REPORT = "io.memopt.report..";
    private static final String CLI = "io.memopt.cli..";
    private static final String DL4J = "org.deeplearning4j..";
    private static final String ND4J_LIBRARY = "org.nd4j..";
    private static final String JAVACPP = "org.bytedeco.javacpp..";
    private static final String GSON = "com.google.gson..";
    private static final String PICOCLI = "picocli..";
    private static final String MICROMETER = "io.micrometer..";

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
    static final ArchRule analysis = onlyImports(ANALYSIS, EVENT, RECORDING, PLAN, REUSE);

    @ArchTest
    static final ArchRule strategy =
            onlyImports(STRATEGY, ANALYSIS, FIT, ALLOCATOR, LISTENERS, DL4J, ND4J_LIBRARY, GSON, JAVACPP);

    @ArchTest
    static final ArchRule fit = onlyImports(FIT, ALLOCATOR, LISTENERS, DL4J, ND4J_LIBRARY);

    @ArchTest
    static final ArchRule data = onlyImports(DATA, ALLOCATOR, ND4J_LIBRARY);

    @ArchTest
    static final ArchRule oom = onlyImports(OOM, ANALYSIS, STRATEGY, EVENT, RECORDING, GSON);

    @ArchTest
    static final ArchRule guard =
            onlyImports(GUARD, OOM, STRATEGY, FIT, ANALYSIS, LISTENERS, ALLOCATOR, DL4J, ND4J_LIBRARY);

    @ArchTest
    static final ArchRule verify =
            onlyImports(VERIFY, ANALYSIS, STRATEGY, LISTENERS, ALLOCATOR, DL4J, ND4J_LIBRARY, GSON);

    @ArchTest
    static final ArchRule report = onlyImports(REPORT, ANALYSIS, STRATEGY, OOM, VERIFY, EVENT, PLAN, RECORDING, GSON);

    @ArchTest
    static final ArchRule cli = onlyImports(
            CLI,
            ENTRY,
            ANALYSIS,
            STRATEGY,
            OOM,
            VERIFY,
            REPORT,
            LISTENERS,
            ALLOCATOR,
            DL4J,
            ND4J_LIBRARY,
            GSON,
            PICOCLI);

    /** What memopt-cli.jar holds must run without ND4J and Deeplearning4j. */
    @ArchTest
    static final ArchRule cliReachesNoNd4j = noClasses()
            .that()
            .resideInAnyPackage(CLI, ANALYSIS)
            .should()
            .transitivelyDependOnClassesThat()
            .resideInAnyPackage(DL4J, ND4J_LIBRARY, "org.bytedeco..");

    /** As the filter of memopt-cli.jar in the pom: what it leaves out would be missed when a command runs. */
    @ArchTest
    static final ArchRule cliHoldsWhatItNeeds = noClasses()
            .that()
            .resideInAnyPackage(CLI, ANALYSIS)
            .should()
            .transitivelyDependOnClassesThat(resideInAPackage("io.memopt..")
                    .and(resideOutsideOfPackages(CLI, ANALYSIS, REPORT, EVENT, PLAN, RECORDING))
                    .and(not(equivalentTo(NetworkWorkspaces.class))));

    @ArchTest
    static final ArchRule entry = onlyImports(
            ENTRY,
            ANALYSIS,
            STRATEGY,
            FIT,
            DATA,
            OOM,
            GUARD,
            VERIFY,
            REPORT,
            LISTENERS,
            ALLOCATOR,
            DL4J,
            ND4J_LIBRARY,
            MICROMETER);

    @ArchTest
    static final ArchRule everyPackageHasARule = classes()
            .that()
            .resideInAPackage("io.memopt..")
            .and()
            .resideOutsideOfPackage("io.memopt.testing..") // the test networks of memopt-listeners, seen as a jar
            .should()
            .resideInAnyPackage(
                    ENTRY, ALLOCATOR, LISTENERS, ANALYSIS, STRATEGY, FIT, DATA, OOM, GUARD, VERIFY, REPORT, CLI)
            .allowEmptyShould(true);

    @ArchTest
    static final ArchRule noCycles =
            slices().matching("io.memopt.(*)..").should().beFreeOfCycles().allowEmptyShould(true);

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
