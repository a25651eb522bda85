import { allBindings, helpOpen } from '../lib/keys';
import { Dialog } from './dialog';

export function KeyHelp() {
  if (!helpOpen.value) return null;
  const seen = new Set<string>();
  const bindings = allBindings().filter((b) => !seen.has(b.keys) && seen.add(b.keys));
  return (
    <Dialog title="Keys" onClose={() => (helpOpen.value = false)}>
      <dl class="keys">
        {bindings.map((binding) => (
          <div key={binding.keys}>
            <dt>
              {binding.keys.split(' ').map((key) => (
                <kbd key={key}>{key}</kbd>
              ))}
            </dt>
            <dd>{binding.does}</dd>
          </div>
        ))}
        <div>
          <dt>
            <kbd>drag</kbd>
          </dt>
          <dd>zoom into a chart; double click shows all again</dd>
        </div>
        <div>
          <dt>
            <kbd>shift</kbd> <kbd>drag</kbd>
          </dt>
          <dd>move along a zoomed chart</dd>
        </div>
      </dl>
    </Dialog>
  );
}
