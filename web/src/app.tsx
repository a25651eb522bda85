import { isShared, loginNeeded, reachable } from './api/client';
import { helpOpen, useKeys } from './lib/keys';
import { go, route } from './lib/router';
import { toggleTheme } from './lib/theme';
import { Login } from './pages/login';
import { PageOf } from './pages/page_of';
import { KeyHelp } from './ui/key_help';
import { Toast } from './ui/toast';
import { PROJECT_PAGES, TopBar } from './ui/top_bar';

const CHORDS: Record<string, string> = {
  runs: 'g r',
  compare: 'g c',
  artifacts: 'g a',
  models: 'g m',
  alerts: 'g l',
};

export function App() {
  const { path } = route.value;
  const project = path[0] === 'p' ? (path[1] ?? '') : '';
  const page = project ? (path[2] ?? 'runs') : (path[0] ?? '');
  useKeys([
    { keys: '?', does: 'these keys', run: () => (helpOpen.value = true) },
    { keys: 't', does: 'dark or light', run: toggleTheme },
    { keys: 'g p', does: 'go to projects', run: () => go([]) },
    ...PROJECT_PAGES.map((name) => ({
      keys: CHORDS[name] ?? '',
      does: `go to ${name}`,
      run: () => {
        if (project) go(['p', project, name]);
      },
    })),
  ]);
  return (
    <div class="app">
      <TopBar project={project} page={page} />
      <div>
        {!reachable.value && (
          <div class="banner" role="alert">
            The server does not answer. What you see is the last it said; this page tries again by
            itself.
          </div>
        )}
        {isShared && (
          <div class="banner note">
            A shared view: you can look at everything and change nothing.
          </div>
        )}
      </div>
      <main>{loginNeeded.value ? <Login /> : <PageOf path={path} />}</main>
      <KeyHelp />
      <Toast />
    </div>
  );
}
