import { Button } from '../../ui/button';
import { Dialog } from '../../ui/dialog';

interface Props {
  name: string;
  onClose: () => void;
  onSave: (password: string) => Promise<boolean>;
}

export function PasswordDialog({ name, onClose, onSave }: Props) {
  const save = async (form: HTMLFormElement) => {
    if (await onSave(String(new FormData(form).get('password')))) onClose();
  };
  return (
    <Dialog title={`A new password for ${name}`} onClose={onClose}>
      <form
        class="column"
        onSubmit={(event) => {
          event.preventDefault();
          void save(event.currentTarget);
        }}
      >
        <input
          class="field"
          name="password"
          type="password"
          autocomplete="new-password"
          aria-label="New password"
          required
        />
        <div class="row end">
          <Button onClick={onClose}>Leave as it is</Button>
          <Button type="submit" kind="primary">
            Set
          </Button>
        </div>
      </form>
    </Dialog>
  );
}
