// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.grafana;

import com.google.gson.JsonArray;
import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import com.google.gson.JsonParser;
import java.io.BufferedReader;
import java.io.File;
import java.io.IOException;
import java.net.URI;
import java.net.URLEncoder;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.concurrent.TimeUnit;

/** A real Prometheus, started by {@code bin/with-prometheus.sh}; it ends with {@link #close()}. */
final class PrometheusServer implements AutoCloseable {
    private final Process script;
    private final String url;
    private final HttpClient client = HttpClient.newHttpClient();

    /** Whether a program of this name is on the PATH. */
    static boolean installed(String program) {
        return Arrays.stream(System.getenv().getOrDefault("PATH", "").split(File.pathSeparator, -1))
                .anyMatch(folder -> Files.isExecutable(Path.of(folder, program)));
    }

    /** Starts the server and waits until it is ready to scrape {@code target}. */
    static PrometheusServer scraping(String target) throws IOException {
        // The command prints the address and then lives as long as its input stays open.
        Process script = new ProcessBuilder(
                        "bin/with-prometheus.sh", target, "sh", "-c", "echo \"$PROMETHEUS_URL\"; cat")
                .redirectError(ProcessBuilder.Redirect.INHERIT)
                .start();
        BufferedReader output = script.inputReader(StandardCharsets.UTF_8);
        String url = output.readLine();
        if (url == null) {
            script.destroy();
            throw new IOException("bin/with-prometheus.sh did not start a server, see its messages above");
        }
        return new PrometheusServer(script, url);
    }

    private PrometheusServer(Process script, String url) {
        this.script = script;
        this.url = url;
    }

    /** The result of a query over the last minute, in steps of a second. */
    JsonArray lastMinute(String promql) throws IOException, InterruptedException {
        double now = System.currentTimeMillis() / 1000.0;
        JsonObject data = get("query_range", "query", promql, "start", "" + (now - 60), "end", "" + now, "step", "1")
                .getAsJsonObject();
        return data.getAsJsonArray("result");
    }

    /** The data of an answer of the HTTP API. */
    JsonElement get(String path, String... parameters) throws IOException, InterruptedException {
        StringBuilder address = new StringBuilder(url).append("/api/v1/").append(path);
        for (int i = 0; i < parameters.length; i += 2) {
            address.append(i == 0 ? '?' : '&').append(URLEncoder.encode(parameters[i], StandardCharsets.UTF_8));
            address.append('=').append(URLEncoder.encode(parameters[i + 1], StandardCharsets.UTF_8));
        }
        HttpRequest request =
                HttpRequest.newBuilder(URI.create(address.toString())).build();
        String body = client.send(request, HttpResponse.BodyHandlers.ofString()).body();
        JsonObject answer = JsonParser.parseString(body).getAsJsonObject();
        if (!Dashboards.string(answer, "status").equals("success")) {
            throw new IOException(Dashboards.string(answer, "error") + " in " + Arrays.toString(parameters));
        }
        return answer.get("data");
    }

    @Override
    public void close() throws IOException, InterruptedException {
        script.getOutputStream().close();
        if (!script.waitFor(20, TimeUnit.SECONDS)) {
            script.destroy();
        }
    }
}
