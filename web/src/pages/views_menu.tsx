import { useState } from 'preact/hooks';
import { deleteView, loadViews, saveView } from '../api/views';
import { attempt } from '../lib/attempt';
import { useResource } from '../lib/resource';
import { linkTo, route } from '../lib/router';
import { mayWrite } from '../lib/session';
import { Button } from '../ui/button';
import { Icon } from '../ui/icon';
import { Menu } from '../ui/menu';
import { say } from '../ui/toast';

/** Views that somebody gave a name, and the link to this one. */
export function ViewsMenu({ project, page }: { project: string; page: string }) {
  return (
    <Menu
      label="Saved views"
      face={
        <>
          <Icon name="star" /> Views
        </>
      }
      width={270}
    >
      {(close) => <ViewList project={project} page={page} close={close} />}
    </Menu>
  );
}

function ViewList({ project, page, close }: { project: string; page: string; close: () => void }) {
  const views = useResource(project, (signal) => loadViews(project, signal));
  const [name, setName] = useState('');
  const change = async (work: () => Promise<void>, done: string) => {
    if (await attempt(work, done)) views.reload();
  };
  const save = () => {
    const id = crypto.randomUUID?.() ?? String(Date.now());
    const query = route.value.query.toString();
    void change(() => saveView({ id, name, project, view: { query } }), `View ${name} saved`);
    setName('');
  };
  return (
    <>
      <button
        type="button"
        class="item"
        onClick={() => {
          void navigator.clipboard?.writeText(location.href);
          say('The link restores exactly this view');
          close();
        }}
      >
        <Icon name="link" /> Copy the link to this view
      </button>
      <hr />
      {views.data?.length === 0 && <div class="label">No view has been saved here yet.</div>}
      {views.data?.map((view) => (
        <div key={view.id} class="row">
          <a
            class="item"
            href={linkTo(['p', project, page], new URLSearchParams(view.view.query))}
            onClick={close}
          >
            {view.name}
          </a>
          {mayWrite.value && (
            <Button
              kind="plain"
              label={`Delete the view ${view.name}`}
              onClick={() => void change(() => deleteView(view.id), 'View deleted')}
            >
              <Icon name="close" />
            </Button>
          )}
        </div>
      ))}
      {mayWrite.value && (
        <form
          class="row"
          style={{ padding: 4 }}
          onSubmit={(event) => {
            event.preventDefault();
            if (name) save();
          }}
        >
          <input
            class="field"
            placeholder="Save this view as"
            aria-label="Name of the view"
            value={name}
            onInput={(event) => setName(event.currentTarget.value)}
          />
          <Button type="submit" disabled={!name}>
            Save
          </Button>
        </form>
      )}
    </>
  );
}
