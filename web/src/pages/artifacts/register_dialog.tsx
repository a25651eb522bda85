import type { ArtifactVersion } from '../../api/artifacts';
import { addModelVersion, createModel, loadModels } from '../../api/models';
import { attempt } from '../../lib/attempt';
import { useResource } from '../../lib/resource';
import { go } from '../../lib/router';
import { Button } from '../../ui/button';
import { Dialog } from '../../ui/dialog';

interface Props {
  project: string;
  version: ArtifactVersion;
  onClose: () => void;
}

/** A version of an artifact becomes the next version of a model, which is made if it is new. */
export function RegisterDialog({ project, version, onClose }: Props) {
  const models = useResource('models', (signal) => loadModels(signal));
  const register = async (form: HTMLFormElement) => {
    const data = new FormData(form);
    const name = String(data.get('name')).trim();
    const isKnown = models.data?.some((model) => model.name === name);
    const isDone = await attempt(async () => {
      if (!isKnown) await createModel(name);
      await addModelVersion(name, {
        source: `artifact:${project}/${version.name}:${version.version}`,
        description: String(data.get('description')),
        ...(version.made_by ? { run_id: version.made_by.id } : {}),
      });
    }, `Registered in ${name}`);
    if (isDone) go(['p', project, 'models', name]);
  };
  return (
    <Dialog title={`Register ${version.name}:${version.version}`} onClose={onClose}>
      <form
        class="column"
        onSubmit={(event) => {
          event.preventDefault();
          void register(event.currentTarget);
        }}
      >
        <label class="stack">
          Model, a known one or a new name
          <input
            class="field"
            name="name"
            list="known-models"
            defaultValue={version.name}
            autocomplete="off"
            required
          />
          <datalist id="known-models">
            {models.data?.map((model) => (
              <option key={model.name} value={model.name} />
            ))}
          </datalist>
        </label>
        <label class="stack">
          What is new in this version
          <textarea class="field" name="description" rows={3} />
        </label>
        <div class="row end">
          <Button onClick={onClose}>Not now</Button>
          <Button type="submit" kind="primary">
            Register
          </Button>
        </div>
      </form>
    </Dialog>
  );
}
