import { useEffect } from 'preact/hooks';
import { isShared, loginNeeded, reachable } from './api/client';
import { helpOpen, useKeys } from './lib/keys';
import { PROJECT_PAGES, queryFor } from './lib/project_pages';
import { go, route } from './lib/router';
import { followSession } from './lib/session';
import { toggleTheme } from './lib/theme';
import { Login } from './pages/access/login';
import { PageOf } from './pages/page_of';
import { Ask } from './ui/ask';
import { KeyHelp } from './ui/key_help';
import { Toast } from './ui/toast';
import { TopBar } from './ui/top_bar';

export function App() {
  const { path } = route.value;
  const project = path[0] === 'p' ? (path[1] ?? '') : '';
  const page = project ? (path[2] ?? 'runs') : (path[0] ?? '');
  useEffect(followSession, []);
  useKeys([
    { keys: '?', does: 'these keys', run: () => (helpOpen.value = true) },
    { keys: 't', does: 'dark or light', run: toggleTheme },
    { keys: 'g p', does: 'go to projects', run: () => go([]) },
    ...PROJECT_PAGES.map(({ name, keys }) => ({
      keys,
      does: `go to ${name}`,
      run: () => {
        if (project) go(['p', project, name], queryFor(name, page, route.value.query));
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
      <Ask />
      <Toast />
    </div>
  );
}
