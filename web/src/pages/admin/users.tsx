import { useState } from 'preact/hooks';
import type { Role } from '../../api/access';
import { deleteUser, loadUsers, putUser } from '../../api/users';
import type { User } from '../../api/users';
import { attempt } from '../../lib/attempt';
import { formatDate } from '../../lib/numbers';
import { useResource } from '../../lib/resource';
import { me } from '../../lib/session';
import { ask } from '../../ui/ask';
import { Button } from '../../ui/button';
import { ErrorNote } from '../../ui/error_note';
import { PasswordDialog } from './password_dialog';
import { RoleSelect } from './role_select';

export function Users() {
  const users = useResource('users', (signal) => loadUsers(signal));
  const [changing, setChanging] = useState<User>();
  const change = async (work: () => Promise<void>, done: string) => {
    const isDone = await attempt(work, done);
    users.reload();
    return isDone;
  };
  const remove = async (user: User) => {
    const isSure = await ask({
      title: `Remove ${user.name}?`,
      text: `${user.name} is logged out everywhere and their tokens stop working. Their runs stay.`,
      action: 'Remove',
    });
    if (isSure) await change(() => deleteUser(user.name), `${user.name} is removed`);
  };
  const add = async (form: HTMLFormElement) => {
    const data = new FormData(form);
    const name = String(data.get('name'));
    const role = data.get('role') as Role;
    const password = String(data.get('password'));
    if (await change(() => putUser(name, { role, password }), `${name} may log in`)) form.reset();
  };
  if (users.error && !users.data) return <ErrorNote error={users.error} onRetry={users.reload} />;
  return (
    <>
      <table class="plain-table">
        <thead>
          <tr>
            <th>name</th>
            <th>role</th>
            <th>since</th>
            <th />
          </tr>
        </thead>
        <tbody>
          {users.data?.map((user) => {
            const isSelf = user.name === me.value?.user;
            return (
              <tr key={user.name}>
                <td>
                  {user.name}
                  {isSelf && <span class="faint"> (you)</span>}
                </td>
                <td>
                  <RoleSelect
                    value={user.role}
                    label={`Role of ${user.name}`}
                    isFixed={isSelf}
                    onPick={(role) =>
                      void change(() => putUser(user.name, { role }), `${user.name} may ${role}`)
                    }
                  />
                </td>
                <td class="muted">{formatDate(user.created_us)}</td>
                <td class="acts">
                  <Button kind="plain" onClick={() => setChanging(user)}>
                    Set password
                  </Button>
                  {!isSelf && (
                    <Button kind="plain" onClick={() => void remove(user)}>
                      Remove
                    </Button>
                  )}
                </td>
              </tr>
            );
          })}
        </tbody>
      </table>
      <form
        class="row wrap making"
        aria-label="New user"
        onSubmit={(event) => {
          event.preventDefault();
          void add(event.currentTarget);
        }}
      >
        <input class="field" name="name" placeholder="Name" aria-label="Name" required />
        <input
          class="field"
          name="password"
          type="password"
          autocomplete="new-password"
          placeholder="Password"
          aria-label="Password"
          required
        />
        <RoleSelect value="write" label="Role" name="role" />
        <Button type="submit">Add the user</Button>
      </form>
      {changing && (
        <PasswordDialog
          name={changing.name}
          onClose={() => setChanging(undefined)}
          onSave={(password) =>
            change(
              () => putUser(changing.name, { role: changing.role, password }),
              `${changing.name} has a new password`,
            )
          }
        />
      )}
    </>
  );
}
