import { useState } from 'preact/hooks';
import { login } from '../../api/access';
import { toApiError } from '../../lib/resource';
import { Button } from '../../ui/button';
import { Icon } from '../../ui/icon';

export function Login() {
  const [problem, setProblem] = useState('');
  const [isBusy, setBusy] = useState(false);
  const submit = async (form: HTMLFormElement) => {
    const data = new FormData(form);
    setBusy(true);
    setProblem('');
    try {
      await login(String(data.get('user')), String(data.get('password')));
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
      <p class="muted">This server asks who you are.</p>
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
      {problem && (
        <p class="problem" role="alert">
          {problem}
        </p>
      )}
      <Button type="submit" kind="primary" disabled={isBusy}>
        Log in
      </Button>
    </form>
  );
}
