import { useState } from 'preact/hooks';
import { login, type Credentials } from '../../api/access';
import { toApiError } from '../../lib/resource';
import { Button } from '../../ui/button';
import { Icon } from '../../ui/icon';

export function Login() {
  const [hasKey, setHasKey] = useState(false);
  const [problem, setProblem] = useState('');
  const [isBusy, setBusy] = useState(false);
  const submit = async (form: HTMLFormElement) => {
    setBusy(true);
    setProblem('');
    try {
      await login(credentialsOf(new FormData(form)));
    } catch (cause) {
      setProblem(toApiError(cause).message);
    } finally {
      setBusy(false);
    }
  };
  return (
    <form
      class="login"
      onSubmit={(event) => {
        event.preventDefault();
        void submit(event.currentTarget);
      }}
    >
      <h1>
        <Icon name="anchor" size={26} /> kedge
      </h1>
      <p class="muted">
        This server asks who you are. Its owner gets in with <code>kedge server link</code>.
      </p>
      {hasKey ? <KeyField /> : <PasswordFields />}
      {problem && (
        <p class="problem" role="alert">
          {problem}
        </p>
      )}
      <Button type="submit" kind="primary" disabled={isBusy}>
        Log in
      </Button>
      <Button kind="plain" onClick={() => setHasKey(!hasKey)}>
        {hasKey ? 'With a password' : 'With a key'}
      </Button>
    </form>
  );
}

function credentialsOf(data: FormData): Credentials {
  const key = data.get('key');
  return key !== null
    ? { key: String(key).trim() }
    : { user: String(data.get('user')), password: String(data.get('password')) };
}

function KeyField() {
  return (
    <label>
      Key
      <input class="field" name="key" type="password" autocomplete="off" required autofocus />
    </label>
  );
}

function PasswordFields() {
  return (
    <>
      <label>
        User
        <input class="field" name="user" autocomplete="username" required autofocus />
      </label>
      <label>
        Password
        <input
          class="field"
          name="password"
          type="password"
          autocomplete="current-password"
          required
        />
      </label>
    </>
  );
}
