// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.allocator;

import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.classes;
import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.noClasses;
import static com.tngtech.archunit.library.dependencies.SlicesRuleDefinition.slices;

import com.tngtech.archunit.core.importer.ImportOption;
import com.tngtech.archunit.junit.AnalyzeClasses;
import com.tngtech.archunit.junit.ArchTest;
import com.tngtech.archunit.lang.ArchRule;
import java.util.ArrayList;
import java.util.List;

/** Holds the package map: which package may import which. A new package needs a rule here. */
@AnalyzeClasses(packages = "io.memopt.allocator", importOptions = ImportOption.DoNotIncludeTests.class)
class ArchitectureTest {
    private static final String EVENT = "io.memopt.allocator.event..";
    private static final String PLAN = "io.memopt.allocator.plan..";
    private static final String POOL = "io.memopt.allocator.pool..";
    private static final String RECORDING = "io.memopt.allocator.recording..";
    private static final String USE = "io.memopt.allocator.use..";
    private static final String REUSE = "io.memopt.allocator.reuse..";
    private static final String ND4J = "io.memopt.allocator.nd4j..";
    private static final String CUDA = "io.memopt.allocator.cuda..";
    private static final String CUDNN = "io.memopt.allocator.cudnn..";
    private static final String ND4J_LIBRARY = "org.nd4j..";
    private static final String JAVACPP = "org.bytedeco..";
    private static final String BYTE_BUDDY = "net.bytebuddy..";

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
    static final ArchRule event = onlyImports(EVENT);

    @ArchTest
    static final ArchRule plan = onlyImports(PLAN);

    @ArchTest
    static final ArchRule pool = onlyImports(POOL, EVENT);

    @ArchTest
    static final ArchRule recording = onlyImports(RECORDING, EVENT, POOL);

    @ArchTest
    static final ArchRule use = onlyImports(USE, EVENT, RECORDING);

    @ArchTest
    static final ArchRule reuse = onlyImports(REUSE, PLAN, USE);

    @ArchTest
    static final ArchRule nd4j =
            onlyImports(ND4J, EVENT, POOL, RECORDING, USE, REUSE, ND4J_LIBRARY, JAVACPP, BYTE_BUDDY);

    @ArchTest
    static final ArchRule cuda = onlyImports(CUDA, EVENT, POOL, ND4J_LIBRARY, JAVACPP, BYTE_BUDDY);

    @ArchTest
    static final ArchRule cudnn = onlyImports(CUDNN, EVENT, CUDA, ND4J_LIBRARY, JAVACPP, BYTE_BUDDY);

    /** Said apart from the table, for this one must survive any loosening of it. */
    @ArchTest
    static final ArchRule eventAndPlanKnowNoNd4j = noClasses()
            .that()
            .resideInAnyPackage(EVENT, PLAN)
            .should()
            .dependOnClassesThat()
            .resideInAnyPackage(ND4J_LIBRARY, JAVACPP, "org.deeplearning4j..")
            .allowEmptyShould(true);

    @ArchTest
    static final ArchRule everyPackageHasARule = classes()
            .that()
            .resideInAPackage("io.memopt.allocator..")
            .should()
            .resideInAnyPackage(EVENT, PLAN, POOL, RECORDING, USE, REUSE, ND4J, CUDA, CUDNN)
            .allowEmptyShould(true);

    @ArchTest
    static final ArchRule noCycles = slices().matching("io.memopt.allocator.(*)..")
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
