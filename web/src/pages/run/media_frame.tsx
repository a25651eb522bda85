import { useEffect, useRef, useState } from 'preact/hooks';
import type { Run } from '../../api/types';
import { useVisible } from '../../charts/element_size';
import { HistogramSteps } from '../../charts/histogram_steps';
import type { Panel } from '../../lib/wandb_panels';
import { MediaBody } from './media_body';
import { useStepRecord } from './use_step_record';

interface Props {
  run: Run;
  type: string;
  name: string;
  panel?: Panel | undefined;
  turn: number;
}

/** One logged thing, with a slider over the steps at which it was logged. */
export function MediaFrame({ run, type, name, panel, turn }: Props) {
  const figure = useRef<HTMLElement>(null);
  const isVisible = useVisible(figure);
  const [wasSeen, setSeen] = useState(false);
  const key = wasSeen ? `${run.id}/${type}/${name}/${Math.floor(turn / 5)}` : '';
  const { newest, total, index, record, choose, error } = useStepRecord(run, type, name, key);
  useEffect(() => {
    if (isVisible) setSeen(true);
  }, [isVisible]);
  const isHistogram = type === 'histogram';
  const label = panel?.key ?? name;
  return (
    <figure ref={figure} class="media" aria-label={`${panel ? 'plot' : type} ${label}`}>
      <figcaption class="row">
        <b class="clip">{label}</b>
        {record && !isHistogram && <span class="faint">step {record.step}</span>}
        {isHistogram && newest.length < total && (
          <span class="faint">
            the newest {newest.length} of {total} steps
          </span>
        )}
        {total > 1 && !isHistogram && (
          <>
            <span class="faint push">
              {index + 1} of {total}
            </span>
            <input
              type="range"
              min={0}
              max={total - 1}
              value={index}
              aria-label={`Step of ${label}`}
              aria-valuetext={record ? `step ${record.step}` : 'on its way'}
              onInput={(event) => choose(Number(event.currentTarget.value))}
            />
          </>
        )}
      </figcaption>
      {error && <p class="bad">{error.message}</p>}
      {isHistogram && newest.length > 0 && <HistogramSteps records={newest} />}
      {record && <MediaBody run={run} record={record} panel={panel} />}
    </figure>
  );
}
