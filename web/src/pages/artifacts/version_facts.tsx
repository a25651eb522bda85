import { useState } from 'preact/hooks';
import { deleteAlias, deleteVersion, patchVersion, putAlias } from '../../api/artifacts';
import type { ArtifactVersion } from '../../api/artifacts';
import { attempt } from '../../lib/attempt';
import { flatten, plain } from '../../lib/flatten';
import { formatBytes, formatDate } from '../../lib/numbers';
import { go, linkTo } from '../../lib/router';
import { mayWrite } from '../../lib/session';
import { ask } from '../../ui/ask';
import { Button } from '../../ui/button';
import { Chips } from '../../ui/chips';
import { Fact, Facts } from '../../ui/facts';
import { TextEditor } from '../../ui/text_editor';
import { say } from '../../ui/toast';
import { RegisterDialog } from './register_dialog';

interface Props {
  version: ArtifactVersion;
  project: string;
  onChanged: () => void;
}

const NEWEST = 'latest'; // the server moves this one by itself

/** What one version is, and what can be done with it. */
export function VersionFacts({ version, project, onChanged }: Props) {
  const [isRegistering, setRegistering] = useState(false);
  const title = `${version.name}:${version.version}`;
  const change = async (work: () => Promise<unknown>) => {
    const isDone = await attempt(work);
    if (isDone) onChanged();
    return isDone;
  };
  const remove = async () => {
    const isSure = await ask({
      title: `Delete ${title}?`,
      text: `Its ${formatBytes(version.size)} are freed unless another version or run holds the same files. Models registered from it lose their source.`,
      action: `Delete ${version.version}`,
    });
    if (!isSure) return;
    const isDone = await attempt(async () => {
      say(`${title} is deleted, ${formatBytes(await deleteVersion(project, version))} freed`);
    });
    if (isDone) {
      go(['p', project, 'artifacts', version.name]);
      onChanged();
    }
  };
  const aliases = mayWrite.value && {
    onAdd: (alias: string) => void change(() => putAlias(project, version, alias)),
    onRemove: (alias: string) => void change(() => deleteAlias(project, version, alias)),
  };
  const madeBy = version.made_by;
  return (
    <section>
      <div class="row wrap">
        <h2>{title}</h2>
        <Chips
          values={version.aliases}
          noun="alias"
          hint="add alias"
          isFixed={(alias) => alias === NEWEST}
          {...aliases}
        />
        {mayWrite.value && (
          <span class="push row">
            <Button onClick={() => setRegistering(true)}>Register as a model</Button>
            <Button kind="danger" onClick={() => void remove()}>
              Delete
            </Button>
          </span>
        )}
      </div>
      <TextEditor
        value={version.description ?? ''}
        label="Description"
        onSave={(description) => change(() => patchVersion(project, version, { description }))}
      />
      <Facts>
        <Fact name="made">{formatDate(version.created_us)}</Fact>
        <Fact name="size">{formatBytes(version.size)}</Fact>
        <Fact name="digest">{version.digest && <span class="mono">{version.digest}</span>}</Fact>
        <Fact name="made by">
          {madeBy && <a href={linkTo(['p', madeBy.project, 'run', madeBy.id])}>{madeBy.id}</a>}
        </Fact>
        {Object.entries(flatten(version.metadata ?? {})).map(([key, value]) => (
          <Fact key={key} name={key}>
            {String(plain(value))}
          </Fact>
        ))}
        <Fact name="to get it">
          <code>
            kedge artifact get {project}/{title}
          </code>
        </Fact>
      </Facts>
      {isRegistering && (
        <RegisterDialog {...{ project, version }} onClose={() => setRegistering(false)} />
      )}
    </section>
  );
}
