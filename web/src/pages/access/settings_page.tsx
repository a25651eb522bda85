import { loadMe, logout } from '../api/access';
import { useResource } from '../lib/resource';
import { themeChoice } from '../lib/theme';
import type { ThemeChoice } from '../lib/theme';
import { Button } from '../ui/button';
import { Shares } from './shares';
import { Tokens } from './tokens';

const THEMES: { choice: ThemeChoice; name: string }[] = [
  { choice: 'system', name: 'as the system' },
  { choice: 'light', name: 'light' },
  { choice: 'dark', name: 'dark' },
];

const RIGHTS = { view: 'look', write: 'look and log', admin: 'do everything' };

export function SettingsPage() {
  const me = useResource('me', (signal) => loadMe(signal));
  return (
    <div class="scroll">
      <div class="leaf">
        <h1>Settings</h1>
        <section class="setting">
          <h2>Theme</h2>
          <span class="joined">
            {THEMES.map(({ choice, name }) => (
              <Button
                key={choice}
                pressed={themeChoice.value === choice}
                onClick={() => (themeChoice.value = choice)}
              >
                {name}
              </Button>
            ))}
          </span>
        </section>
        {me.data && (
          <section class="setting">
            <h2>User</h2>
            {me.data.auth ? (
              <div class="row">
                <span>
                  {me.data.user}, who may {RIGHTS[me.data.role]}
                </span>
                <Button onClick={() => void logout()}>Log out</Button>
              </div>
            ) : (
              <p class="muted">
                This server asks nobody to log in. <code>kedge server --auth</code> turns on users,
                roles and tokens.
              </p>
            )}
          </section>
        )}
        <Tokens />
        <Shares />
      </div>
    </div>
  );
}
