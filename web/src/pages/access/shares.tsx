import { loadProjects } from '../../api/runs';
import { useResource } from '../../lib/resource';
import { expiry, Grants } from './grants';

/** Links that let anybody look at one project and change nothing. */
export function Shares() {
  const projects = useResource('projects', (signal) => loadProjects(signal));
  return (
    <Grants
      kind="shares"
      noun="link"
      title="Share links"
      intro="Whoever has the link sees the project as it is at that moment, without a login."
      columns={[
        { title: 'project', show: (grant) => grant.project },
        { title: 'by', show: (grant) => grant.user },
      ]}
      isReady={(projects.data ?? []).length > 0}
      bodyOf={(form) => ({ project: String(form.get('project')), expires_in_s: expiry(form) })}
      made={({ token, project }) => (
        <a id="share-link" href={shareLink(token, project)}>
          {shareLink(token, project)}
        </a>
      )}
      fields={
        <>
          <select class="field" name="project" aria-label="Project">
            {projects.data?.map((p) => (
              <option key={p.name}>{p.name}</option>
            ))}
          </select>
          <select class="field" name="days" aria-label="How long">
            <option value="7">7 days</option>
            <option value="90">90 days</option>
          </select>
        </>
      }
    />
  );
}

function shareLink(token: string, project: string): string {
  const url = new URL('.', document.baseURI);
  url.searchParams.set('share', token);
  return `${url.toString()}#/p/${encodeURIComponent(project)}/runs`;
}
