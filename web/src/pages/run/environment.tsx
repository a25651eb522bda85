import type { Json } from '../../api/types';
import { flatten, isObject, plain } from '../../lib/flatten';
import { Fact, Facts } from '../../ui/facts';

/** Where a run ran: the machine, the program, the packages. */
export function Environment({ environment }: { environment: { [key: string]: Json } }) {
  const { packages, ...machine } = environment;
  const facts = Object.entries(flatten(machine));
  const names = isObject(packages) ? Object.entries(packages) : [];
  if (facts.length + names.length === 0) return null;
  return (
    <section>
      <h2>Environment</h2>
      <Facts>
        {facts.map(([name, value]) => (
          <Fact key={name} name={name}>
            <span class="mono">{String(plain(value))}</span>
          </Fact>
        ))}
      </Facts>
      {names.length > 0 && (
        <details>
          <summary>{names.length} packages</summary>
          <Facts>
            {names.map(([name, version]) => (
              <Fact key={name} name={name}>
                <span class="mono">{String(plain(version))}</span>
              </Fact>
            ))}
          </Facts>
        </details>
      )}
    </section>
  );
}
