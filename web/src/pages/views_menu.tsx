import { useState } from 'preact/hooks';
import { isShared } from '../api/client';
import { deleteView, loadViews, saveView } from '../api/views';
import { toApiError, useResource } from '../lib/resource';
import { linkTo, route } from '../lib/router';
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
  const attempt = async (work: Promise<void>, done: string) => {
    try {
      await work;
      say(done);
      views.reload();
    } catch (cause) {
      say(toApiError(cause).message);
    }
  };
  const save = () => {
    const id = crypto.randomUUID?.() ?? String(Date.now());
    const query = route.value.query.toString();
    void attempt(saveView({ id, name, project, view: { query } }), `View ${name} saved`);
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
          {!isShared && (
            <Button
              kind="plain"
              label={`Delete the view ${view.name}`}
              onClick={() => void attempt(deleteView(view.id), 'View deleted')}
            >
              <Icon name="close" />
            </Button>
          )}
        </div>
      ))}
      {!isShared && (
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
