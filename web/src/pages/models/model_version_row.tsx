import {
  deleteModelAlias,
  deleteModelVersion,
  patchModelVersion,
  putModelAlias,
  STAGES,
} from '../../api/models';
import type { ModelVersion } from '../../api/models';
import { formatDate } from '../../lib/numbers';
import { linkTo } from '../../lib/router';
import { mayWrite } from '../../lib/session';
import { ask } from '../../ui/ask';
import { Button } from '../../ui/button';
import { Chips } from '../../ui/chips';
import { LabelEditor } from '../../ui/label_editor';
import { TextEditor } from '../../ui/text_editor';

interface Props {
  model: string;
  version: ModelVersion;
  change: (work: () => Promise<void>, done?: string) => Promise<boolean>;
}

export function ModelVersionRow({ model, version, change }: Props) {
  const number = version.version;
  const isOpen = mayWrite.value;
  const remove = async () => {
    const isSure = await ask({
      title: `Delete version ${number} of ${model}?`,
      text: 'Its stage, aliases and tags go with it. The artifact behind it stays, and the number is not used again.',
      action: `Delete version ${number}`,
    });
    if (isSure) await change(() => deleteModelVersion(model, number), `v${number} is deleted`);
  };
  const aliases = isOpen && {
    onAdd: (alias: string) => void change(() => putModelAlias(model, alias, number)),
    onRemove: (alias: string) => void change(() => deleteModelAlias(model, alias)),
  };
  return (
    <li aria-label={`Version ${number}`}>
      <div class="row wrap">
        <b class="version">v{number}</b>
        <select
          class="field"
          aria-label={`Stage of version ${number}`}
          disabled={!isOpen}
          value={version.stage}
          onChange={(event) => {
            const stage = event.currentTarget.value;
            void change(() => patchModelVersion(model, number, { stage }));
          }}
        >
          {STAGES.map((stage) => (
            <option key={stage} value={stage}>
              {stage === 'None' ? 'no stage' : stage}
            </option>
          ))}
        </select>
        <Chips values={version.aliases} noun="alias" hint="add alias" {...aliases} />
        <span class="push row">
          <span class="faint">
            {[formatDate(version.created_us), version.user].filter(Boolean).join(', ')}
          </span>
          {isOpen && (
            <Button kind="plain" label={`Delete version ${number}`} onClick={() => void remove()}>
              Delete
            </Button>
          )}
        </span>
      </div>
      <div class="row wrap">
        <Source version={version} />
        <LabelEditor
          labels={version.tags}
          noun="tag"
          onChange={(tags) => void change(() => patchModelVersion(model, number, { tags }))}
        />
      </div>
      <TextEditor
        value={version.description}
        label={`What is new in version ${number}`}
        onSave={(description) => change(() => patchModelVersion(model, number, { description }))}
      />
    </li>
  );
}

function Source({ version }: { version: ModelVersion }) {
  const { source } = version;
  if (!source) return <span class="mono break">{version.source_uri || 'no source'}</span>;
  return (
    <a href={linkTo(['p', source.project, 'artifacts', source.artifact, source.version])}>
      {source.project}/{source.artifact}:{source.version}
    </a>
  );
}
