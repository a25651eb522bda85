import { deleteModel, loadModel, patchModel } from '../../api/models';
import { attempt } from '../../lib/attempt';
import { formatDate } from '../../lib/numbers';
import { useResource } from '../../lib/resource';
import { go, linkTo } from '../../lib/router';
import { mayWrite } from '../../lib/session';
import { ask } from '../../ui/ask';
import { Button } from '../../ui/button';
import { ErrorNote } from '../../ui/error_note';
import { Fact, Facts } from '../../ui/facts';
import { LabelEditor } from '../../ui/label_editor';
import { TextEditor } from '../../ui/text_editor';
import { ModelVersionRow } from './model_version_row';

/** One registered model with its versions, newest first. */
export function ModelPage({ project, name }: { project: string; name: string }) {
  const loaded = useResource(name, (signal) => loadModel(name, signal));
  const model = loaded.data;
  if (loaded.error && !model) return <ErrorNote error={loaded.error} onRetry={loaded.reload} />;
  if (!model) return null;
  const change = async (work: () => Promise<void>, done = '') => {
    const isDone = await attempt(work, done);
    loaded.reload();
    return isDone;
  };
  const remove = async () => {
    const count = model.versions.length;
    const isSure = await ask({
      title: `Delete the model ${name}?`,
      text: `Its name, aliases, stages and ${count} version${count === 1 ? '' : 's'} leave the registry. The artifacts behind them stay.`,
      action: 'Delete the model',
    });
    if (isSure && (await attempt(() => deleteModel(name), `${name} is deleted`))) {
      go(['p', project, 'models']);
    }
  };
  const versions = [...model.versions].sort((a, b) => b.version - a.version);
  return (
    <div class="scroll">
      <div class="leaf">
        <p class="trail">
          <a href={linkTo(['p', project, 'models'])}>Models</a>
        </p>
        <div class="row">
          <h1 class="clip">{name}</h1>
          {mayWrite.value && (
            <span class="push">
              <Button kind="danger" onClick={() => void remove()}>
                Delete
              </Button>
            </span>
          )}
        </div>
        <TextEditor
          value={model.description}
          label="Description"
          onSave={(description) => change(() => patchModel(name, { description }))}
        />
        <Facts>
          <Fact name="registered">{formatDate(model.created_us)}</Fact>
          <Fact name="tags">
            <LabelEditor
              labels={model.tags}
              noun="tag"
              onChange={(tags) => void change(() => patchModel(name, { tags }))}
            />
          </Fact>
        </Facts>
        <h2 class="part">Versions</h2>
        {versions.length === 0 && (
          <p class="faint">
            None yet: open an <a href={linkTo(['p', project, 'artifacts'])}>artifact</a> and
            register one of its versions.
          </p>
        )}
        <ol class="model-versions">
          {versions.map((version) => (
            <ModelVersionRow key={version.version} model={name} {...{ version, change }} />
          ))}
        </ol>
      </div>
    </div>
  );
}
