import { ROLES } from '../../api/types';
import { me } from '../../lib/session';
import { Button } from '../../ui/button';
import { say } from '../../ui/toast';
import { expiry, Grants } from './grants';

/** Tokens for programs: one's own, or, for an admin who asks, everybody's. */
export function Tokens({ isOfAll = false }: { isOfAll?: boolean }) {
  const own = me.value;
  const most = ROLES.indexOf(own?.role ?? 'view');
  const user = { title: 'user', show: (grant: { user: string }) => grant.user };
  return (
    <Grants
      kind="tokens"
      noun="token"
      title="Tokens"
      intro={
        <>
          For programs on other machines: put one into a file and point{' '}
          <code>KEDGE_TOKEN_FILE</code> at it.
        </>
      }
      columns={[
        { title: 'for', show: (grant) => grant.name },
        ...(isOfAll ? [user] : []),
        { title: 'may', show: (grant) => grant.scopes.join(', ') },
      ]}
      isShown={(grant) => isOfAll || grant.user === own?.user}
      bodyOf={(form) => ({
        name: String(form.get('name')),
        scopes: ROLES.filter((role) => role === form.get('role')),
        expires_in_s: expiry(form),
      })}
      made={({ token }) => (
        <>
          <code>{token}</code>
          <Button
            onClick={() => {
              void navigator.clipboard?.writeText(token);
              say('Copied');
            }}
          >
            Copy
          </Button>
          <span class="muted">It is shown this once: the server keeps only its hash.</span>
        </>
      )}
      fields={
        <>
          <input
            class="field"
            name="name"
            placeholder="What it is for"
            aria-label="Name"
            required
          />
          <select class="field" name="role" aria-label="What it may do">
            {ROLES.slice(0, most + 1)
              .reverse()
              .map((role) => (
                <option key={role} value={role} selected={role === 'write'}>
                  {role}
                </option>
              ))}
          </select>
          <select class="field" name="days" aria-label="How long">
            <option value="30">30 days</option>
            <option value="90">90 days</option>
            <option value="365">a year</option>
          </select>
        </>
      }
    />
  );
}
