import { useState } from 'preact/hooks';
import { createToken, deleteToken, loadTokens } from '../api/access';
import { formatDate } from '../lib/numbers';
import { toApiError, useResource } from '../lib/resource';
import { Button } from '../ui/button';
import { say } from '../ui/toast';

/** Tokens for programs. A token is shown once, when it is made. */
export function Tokens() {
  const tokens = useResource('tokens', (signal) => loadTokens(signal));
  const [made, setMade] = useState('');
  const attempt = async (work: () => Promise<void>) => {
    try {
      await work();
      tokens.reload();
    } catch (cause) {
      say(toApiError(cause).message);
    }
  };
  const create = (form: HTMLFormElement) => {
    const data = new FormData(form);
    void attempt(async () => {
      const answer = await createToken(
        String(data.get('name')),
        String(data.get('role')),
        Number(data.get('days')),
      );
      setMade(answer.token);
      form.reset();
    });
  };
  return (
    <section class="setting">
      <h2>Tokens</h2>
      <p class="muted">
        For programs on other machines: put one into a file and point <code>KEDGE_TOKEN_FILE</code>{' '}
        at it.
      </p>
      {made && (
        <p class="made" role="status">
          <code>{made}</code>
          <Button
            onClick={() => {
              void navigator.clipboard?.writeText(made);
              say('Copied');
            }}
          >
            Copy
          </Button>
          <span class="muted">It is shown this once: the server keeps only its hash.</span>
        </p>
      )}
      {tokens.error && <p class="muted">{tokens.error.message}</p>}
      {(tokens.data ?? []).length > 0 && (
        <table class="plain-table">
          <thead>
            <tr>
              <th>name</th>
              <th>may</th>
              <th>made</th>
              <th>ends</th>
              <th />
            </tr>
          </thead>
          <tbody>
            {tokens.data?.map((token) => (
              <tr key={token.id}>
                <td>{token.name}</td>
                <td>{token.scopes.join(', ')}</td>
                <td class="muted">{formatDate(token.created_us)}</td>
                <td class="muted">{token.expires_us ? formatDate(token.expires_us) : 'never'}</td>
                <td>
                  <Button kind="plain" onClick={() => void attempt(() => deleteToken(token.id))}>
                    Revoke
                  </Button>
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
      <form
        class="row wrap"
        style={{ marginTop: 10 }}
        onSubmit={(event) => {
          event.preventDefault();
          create(event.currentTarget);
        }}
      >
        <input class="field" name="name" placeholder="What it is for" aria-label="Name" required />
        <select class="field" name="role" aria-label="What it may do">
          <option value="write">write</option>
          <option value="view">view</option>
          <option value="admin">admin</option>
        </select>
        <select class="field" name="days" aria-label="How long">
          <option value="30">30 days</option>
          <option value="90">90 days</option>
          <option value="365">a year</option>
        </select>
        <Button type="submit">Make a token</Button>
      </form>
    </section>
  );
}
