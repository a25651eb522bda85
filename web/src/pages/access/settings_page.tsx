import { logout } from '../../api/access';
import { mayAdmin, mayWrite, me } from '../../lib/session';
import { themeChoice } from '../../lib/theme';
import type { ThemeChoice } from '../../lib/theme';
import { Button } from '../../ui/button';
import { Shares } from './shares';
import { Tokens } from './tokens';

const THEMES: { choice: ThemeChoice; name: string }[] = [
  { choice: 'system', name: 'as the system' },
  { choice: 'light', name: 'light' },
  { choice: 'dark', name: 'dark' },
];

const RIGHTS = { view: 'look', write: 'look, log and change', admin: 'do everything' };

export function SettingsPage() {
  const user = me.value;
  return (
    <div class="scroll">
      <div class="leaf narrow">
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
        {user && (
          <section class="setting">
            <h2>User</h2>
            {user.auth ? (
              <div class="row wrap">
                <span>
                  <b>{user.user}</b> may {RIGHTS[user.role]}
                </span>
                {mayAdmin.value && <a href="#/admin">users and audit</a>}
                <Button onClick={() => void logout()}>Log out</Button>
              </div>
            ) : (
              <p class="muted">
                This server asks nobody to log in. <code>kedge server --auth</code> turns on users,
                roles, tokens and share links.
              </p>
            )}
          </section>
        )}
        {user?.auth && <Tokens />}
        {user?.auth && mayWrite.value && <Shares />}
      </div>
    </div>
  );
}
