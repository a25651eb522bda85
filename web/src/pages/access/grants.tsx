import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import { createGrant, deleteGrant, loadGrants } from '../../api/access';
import type { Grant, GrantKind } from '../../api/access';
import type { NewGrant } from '../../api/types';
import { attempt } from '../../lib/attempt';
import { formatDate } from '../../lib/numbers';
import { useResource } from '../../lib/resource';
import { ask } from '../../ui/ask';
import { Button } from '../../ui/button';

interface Props {
  kind: GrantKind;
  title: string;
  intro: ComponentChildren;
  noun: string; // "token"
  columns: { title: string; show: (grant: Grant) => ComponentChildren }[];
  fields: ComponentChildren; // of the form that makes one
  isReady?: boolean; // false: the fields have nothing to choose from yet
  isShown?: (grant: Grant) => boolean;
  bodyOf: (form: FormData) => NewGrant;
  made: (grant: Grant & { token: string }) => ComponentChildren; // shown once
}

const DAY_S = 86400;

export function expiry(form: FormData): number {
  return Number(form.get('days')) * DAY_S;
}

/** What lets somebody in without a password: a list, and a form for one more. */
export function Grants({ kind, noun, isReady = true, isShown = () => true, ...rest }: Props) {
  const grants = useResource(kind, (signal) => loadGrants(kind, signal));
  const [made, setMade] = useState<Grant & { token: string }>();
  const create = async (form: HTMLFormElement) => {
    const body = rest.bodyOf(new FormData(form));
    const isDone = await attempt(async () => setMade(await createGrant(kind, body)));
    if (isDone) form.reset();
    grants.reload();
  };
  const revoke = async (grant: Grant) => {
    const isSure = await ask({
      title: `Revoke this ${noun}?`,
      text: `Whoever uses ${grant.name || `the ${noun} for ${grant.project}`} is shut out at once. A revoked ${noun} does not come back; a new one can be made.`,
      action: 'Revoke',
    });
    if (isSure && (await attempt(() => deleteGrant(kind, grant.id), 'Revoked'))) grants.reload();
  };
  const shown = (grants.data ?? []).filter(isShown);
  return (
    <section class="setting">
      <h2>{rest.title}</h2>
      <p class="muted">{rest.intro}</p>
      {made && (
        <p class="made" role="status">
          {rest.made(made)}
        </p>
      )}
      {grants.error && <p class="muted">{grants.error.message}</p>}
      {shown.length > 0 && (
        <table class="plain-table">
          <thead>
            <tr>
              {rest.columns.map(({ title }) => (
                <th key={title}>{title}</th>
              ))}
              <th>made</th>
              <th>ends</th>
              <th />
            </tr>
          </thead>
          <tbody>
            {shown.map((grant) => (
              <tr key={grant.id}>
                {rest.columns.map(({ title, show }) => (
                  <td key={title}>{show(grant)}</td>
                ))}
                <td class="muted">{formatDate(grant.created_us)}</td>
                <td class="muted">{grant.expires_us ? formatDate(grant.expires_us) : 'never'}</td>
                <td class="acts">
                  <Button kind="plain" onClick={() => void revoke(grant)}>
                    Revoke
                  </Button>
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
      <form
        class="row wrap making"
        onSubmit={(event) => {
          event.preventDefault();
          void create(event.currentTarget);
        }}
      >
        {rest.fields}
        <Button type="submit" disabled={!isReady}>
          Make a {noun}
        </Button>
      </form>
    </section>
  );
}
