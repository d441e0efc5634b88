// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.strategy;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.google.gson.JsonArray;
import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import com.google.gson.JsonParser;
import com.google.gson.JsonPrimitive;
import io.memopt.MemOpt;
import io.memopt.MemOptConfig;
import io.memopt.allocator.nd4j.MemoryHooks;
import io.memopt.testing.Networks;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.deeplearning4j.nn.api.Model;
import org.deeplearning4j.nn.conf.WorkspaceMode;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.nd4j.linalg.factory.Nd4j;

/** Poisoned plans: right ones change no bit, wrong ones are found even where nothing else had taken the bytes yet. */
class PlannedPoisonTest {
    private static final MemOptConfig POISONED =
            MemOptConfig.builder().reuse(Reuse.PLANNED).planPoison(true).build();

    /** Of an array in a profile: index of its workspace, requested, rounded, birth, last use, scope end. */
    private static final int ROUNDED = 2;

    private static final int BIRTH = 3;
    private static final int LAST_USE = 4;

    @TempDir
    private Path folder;

    @AfterEach
    void uninstall() {
        MemoryHooks.uninstall();
    }

    @ParameterizedTest
    @EnumSource(mode = EnumSource.Mode.EXCLUDE, names = "ZOO_RESNET50")
    void rightPlans_equalPlain(TrainingCases each) {
        MemoryHooks.uninstall();
        Diary plain = train(each, null);
        Diary poisoned = train(each, POISONED);
        poisoned.assertSameAs(plain);
    }

    private static Diary train(TrainingCases each, MemOptConfig config) {
        Nd4j.getRandom().setSeed(7);
        Model model = each.create();
        Diary diary = new Diary();
        MemOpt memopt = config == null ? null : MemOpt.attach(model, config);
        for (int i = 0; i < 14; i++) {
            if (i == 7) {
                model.addListeners(diary.new ActivationStatistics());
            }
            TrainingCases.fit(model, each.data(i));
            diary.score(model);
            if (i % 4 == 3) {
                diary.ask(model, each.data(i + 1));
            }
        }
        diary.close(model);
        if (memopt != null) {
            assertThat(memopt.plans())
                    .noneMatch(plan -> plan.state().equals("REFUSED"))
                    .anyMatch(plan -> plan.served() > 0);
            memopt.close();
        }
        return diary;
    }

    /**
     * Plans from a profile in which one array ends right after its birth. With most of them training goes wrong; some are
     * lucky, as no other array takes those bytes before the last use. Poison finds both, but for uses that neither read nor
     * write; results are right every time.
     */
    @Test
    void shortenedLife_isFoundByPoison_evenIfNothingTookItsBytes() throws IOException {
        List<Double> right = run(MemOptConfig.defaults()).scores;
        JsonObject profile = recordedProfile();
        int spoiled = 0;
        int foundByPoisonAlone = 0;
        int withoutEffect = 0;
        JsonArray arrays = arrays(profile);
        for (int i = 0; i < arrays.size(); i += 2) {
            JsonArray row = arrays.get(i).getAsJsonArray();
            JsonElement lastUse = row.get(LAST_USE);
            int shortened = row.get(BIRTH).getAsInt() + 1;
            if (row.get(ROUNDED).getAsLong() <= 64 || lastUse.getAsInt() <= shortened) {
                continue;
            }
            row.set(LAST_USE, new JsonPrimitive(shortened));
            boolean equal = run(config(profile, false)).scores.equals(right);
            Run poisoned = run(config(profile, true));
            assertThat(poisoned.scores)
                    .as("%s, equal without poison: %s", row, equal)
                    .isEqualTo(right);
            spoiled += equal ? 0 : 1;
            foundByPoisonAlone += equal && !poisoned.served ? 1 : 0;
            withoutEffect += poisoned.served ? 1 : 0;
            row.set(LAST_USE, lastUse);
        }
        System.out.println("shortened lives that spoil results without poison: " + spoiled
                + ", that only poison finds: " + foundByPoisonAlone + ", without any effect: " + withoutEffect);
        assertThat(spoiled).isPositive();
        assertThat(foundByPoisonAlone).isPositive();
        assertThat(withoutEffect).isLessThan(foundByPoisonAlone);
    }

    @Test
    void poisonWithoutPlans_isRefused() {
        assertThatThrownBy(() -> MemOptConfig.builder().planPoison(true).build())
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("planPoison=true but reuse=OFF, expected PLANNED");
    }

    private static JsonArray arrays(JsonObject profile) {
        JsonObject networks = profile.getAsJsonObject("networks");
        return networks.getAsJsonArray(networks.keySet().iterator().next())
                .get(0)
                .getAsJsonObject()
                .getAsJsonArray("arrays");
    }

    private JsonObject recordedProfile() throws IOException {
        Path file = folder.resolve("recorded.json");
        run(MemOptConfig.builder().reuse(Reuse.PLANNED).planProfile(file).build());
        return JsonParser.parseString(Files.readString(file)).getAsJsonObject();
    }

    private MemOptConfig config(JsonObject profile, boolean poison) throws IOException {
        Path file = Files.writeString(folder.resolve("plans.json"), profile.toString());
        return MemOptConfig.builder()
                .reuse(Reuse.PLANNED)
                .planProfile(file)
                .planPoison(poison)
                .build();
    }

    /** Scores of two iterations, and whether a plan served any. */
    private record Run(List<Double> scores, boolean served) {}

    private static Run run(MemOptConfig config) {
        Nd4j.getRandom().setSeed(7);
        Model model = Networks.LENET.create(WorkspaceMode.ENABLED);
        List<Double> scores = new ArrayList<>();
        try (MemOpt memopt = MemOpt.attach(model, config)) {
            for (int i = 0; i < 2; i++) {
                Networks.fit(model, Networks.LENET.data(2, i));
                scores.add(model.score());
            }
            return new Run(scores, memopt.plans().stream().anyMatch(plan -> plan.served() > 0));
        }
    }
}
