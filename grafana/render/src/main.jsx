// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
//
// The page: /?theme=dark|light&from=now-5m&to=now&scrape=1&var-NAME=VALUE shows /dashboard.json.
import 'uplot/dist/uPlot.min.css';
import { ThemeContext, createTheme } from '@grafana/data';
import { initPluginTranslations } from '@grafana/i18n';
import { config } from '@grafana/runtime';
import { GlobalStyles, PortalContainer } from '@grafana/ui';
import { Component, useEffect } from 'react';
import { createRoot } from 'react-dom/client';
import { BrowserRouter } from 'react-router-dom';
import { initGrafana } from './grafana';
import { initPanels } from './panels';
import { initPrometheus, queries } from './prometheus';
import { dashboardScene, panelStates } from './scene';

/** Read by render.mjs. */
window.memopt = { pageErrors: [], panels: () => [], queries };

class ErrorBoundary extends Component {
  state = {};
  static getDerivedStateFromError(error) {
    window.memopt.pageErrors.push(String(error.stack ?? error));
    return { error };
  }
  render() {
    return this.state.error ? <pre>{String(this.state.error)}</pre> : this.props.children;
  }
}

function Dashboard({ model, scene, theme }) {
  useEffect(() => scene.activate(), [scene]);
  return (
    <div style={{ padding: '12px 16px', background: theme.colors.background.canvas }}>
      <h3 style={{ color: theme.colors.text.primary, margin: '0 0 8px' }}>{model.title}</h3>
      {/* The grid takes the height of its last row: 30 px a unit and 8 px between units. */}
      <div style={{ display: 'flex', minHeight: 38 * Math.max(...model.panels.map(({ gridPos }) => gridPos.y + gridPos.h)) + 64 }}>
        <scene.Component model={scene} />
      </div>
    </div>
  );
}

async function main() {
  const parameters = new URLSearchParams(location.search);
  const model = await (await fetch('dashboard.json')).json();
  await initPluginTranslations('memopt');
  initGrafana();
  initPrometheus(model.annotations.list.filter(({ expr }) => expr));
  initPanels();
  const scene = dashboardScene(model, parameters);
  const theme = createTheme({ colors: { mode: parameters.get('theme') ?? 'dark' } });
  config.theme2 = theme; // scenes resolves colour names by it
  window.memopt.panels = () => panelStates(scene);
  createRoot(document.getElementById('root')).render(
    <BrowserRouter>
      <ThemeContext.Provider value={theme}>
        <GlobalStyles />
        <PortalContainer />
        <ErrorBoundary>
          <Dashboard model={model} scene={scene} theme={theme} />
        </ErrorBoundary>
      </ThemeContext.Provider>
    </BrowserRouter>,
  );
}

main().catch((error) => window.memopt.pageErrors.push(String(error.stack ?? error)));
