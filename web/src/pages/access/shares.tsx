import { useState } from 'preact/hooks';
import { createShare, deleteShare, loadShares } from '../api/access';
import { loadProjects } from '../api/runs';
import { formatDate } from '../lib/numbers';
import { toApiError, useResource } from '../lib/resource';
import { Button } from '../ui/button';
import { say } from '../ui/toast';

/** Links that let anybody look at one project and change nothing. */
export function Shares() {
  const shares = useResource('shares', (signal) => loadShares(signal));
  const projects = useResource('projects', (signal) => loadProjects(signal));
  const [link, setLink] = useState('');
  const attempt = async (work: () => Promise<void>) => {
    try {
      await work();
      shares.reload();
    } catch (cause) {
      say(toApiError(cause).message);
    }
  };
  const create = (form: HTMLFormElement) => {
    const data = new FormData(form);
    const project = String(data.get('project'));
    void attempt(async () => {
      const share = await createShare(project, Number(data.get('days')));
      setLink(shareLink(share.token, project));
    });
  };
  return (
    <section class="setting">
      <h2>Share links</h2>
      {link && (
        <p class="made" role="status">
          <a id="share-link" href={link}>
            {link}
          </a>
        </p>
      )}
      {shares.error && <p class="muted">{shares.error.message}</p>}
      {(shares.data ?? []).length > 0 && (
        <table class="plain-table">
          <tbody>
            {shares.data?.map((share) => (
              <tr key={share.id}>
                <td>{share.project}</td>
                <td class="muted">
                  {share.expires_us ? `until ${formatDate(share.expires_us)}` : 'for ever'}
                </td>
                <td>
                  <Button kind="plain" onClick={() => void attempt(() => deleteShare(share.id))}>
                    Revoke
                  </Button>
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
      <form
        class="row"
        style={{ marginTop: 10 }}
        onSubmit={(event) => {
          event.preventDefault();
          create(event.currentTarget);
        }}
      >
        <select class="field" name="project" aria-label="Project">
          {projects.data?.map((p) => (
            <option key={p.name}>{p.name}</option>
          ))}
        </select>
        <select class="field" name="days" aria-label="How long">
          <option value="7">7 days</option>
          <option value="90">90 days</option>
        </select>
        <Button type="submit" disabled={!projects.data?.length}>
          Make a link
        </Button>
      </form>
    </section>
  );
}

function shareLink(token: string, project: string): string {
  const url = new URL('.', document.baseURI);
  url.searchParams.set('share', token);
  return `${url.toString()}#/p/${encodeURIComponent(project)}/runs`;
}
