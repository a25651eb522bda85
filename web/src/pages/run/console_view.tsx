import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import type { Run } from '../../api/types';
import { parseAnsi, stripAnsi } from '../../lib/ansi';
import { useKeys } from '../../lib/keys';
import { formatDate } from '../../lib/numbers';
import { Button } from '../../ui/button';
import { Empty } from '../../ui/empty';
import { Icon } from '../../ui/icon';
import { Strip, useWindow } from '../../ui/virtual_list';
import { useConsole } from './use_console';
import type { ConsoleLines } from './use_console';

const LINE = 18;
const AT_END = 40;

/** What the run printed: colours, search, and the last lines as they come. */
export function ConsoleView({ run, turn }: { run: Run; turn: number }) {
  const lines = useConsole(run, turn);
  const [find, setFind] = useState('');
  const [hits, setHits] = useState<number[] | null>(null);
  const [follow, setFollow] = useState(true);
  const [times, setTimes] = useState(false);
  const box = useRef<HTMLDivElement>(null);
  const count = hits ? hits.length : lines.total;
  const { first, last, top } = useWindow(box, LINE, count);
  useSearch(lines, find, setHits);
  useEffect(() => {
    if (!hits) lines.want(first, last);
  }, [first, last, hits]);
  useEffect(() => {
    if (follow && box.current) box.current.scrollTop = box.current.scrollHeight;
  }, [follow, count, lines.isReady]);
  useKeys([
    {
      keys: '/',
      does: 'search the console',
      run: () => document.getElementById('find-line')?.focus(),
    },
    { keys: 'f', does: 'follow the end', run: () => setFollow(!follow) },
  ]);
  const numbers = useMemo(
    () =>
      Array.from({ length: last - first }, (_, i) => (hits ? (hits[first + i] ?? 0) : first + i)),
    [first, last, hits],
  );
  if (lines.isReady && lines.total === 0) {
    return (
      <Empty title="Nothing printed yet" command="kedge run -- python train.py">
        <p>Whatever the program prints is kept here with its colours:</p>
      </Empty>
    );
  }
  return (
    <div class="console-page">
      <div class="toolbar">
        <span class="find">
          <Icon name="search" />
          <input
            id="find-line"
            class="field"
            type="search"
            placeholder="Search all lines"
            aria-label="Search the console"
            value={find}
            onInput={(event) => setFind(event.currentTarget.value)}
          />
        </span>
        <span class="faint" role="status">
          {hits ? `${hits.length} of ${lines.total} lines` : `${lines.total} lines`}
        </span>
        {lines.error && <span class="bad">{lines.error}</span>}
        <span class="push row">
          <Button pressed={times} onClick={() => setTimes(!times)}>
            times
          </Button>
          <Button pressed={follow} label="Follow the end (f)" onClick={() => setFollow(!follow)}>
            <Icon name="down_end" /> follow
          </Button>
        </span>
      </div>
      <div
        ref={box}
        class="console"
        tabIndex={0}
        role="log"
        aria-label="Console"
        onWheel={(event) => {
          const element = event.currentTarget;
          const rest = element.scrollHeight - element.scrollTop - element.clientHeight;
          if (event.deltaY < 0 && rest < AT_END) setFollow(false);
        }}
      >
        <Strip height={count * LINE} top={top}>
          {numbers.map((n) => (
            <Line key={n} n={n} lines={lines} times={times} />
          ))}
        </Strip>
      </div>
    </div>
  );
}

function Line({ n, lines, times }: { n: number; lines: ConsoleLines; times: boolean }) {
  const line = lines.line(n);
  return (
    <div class="console-line">
      <span class="n">{n + 1}</span>
      {times && <span class="when">{line ? formatDate(line.time_us).slice(11) : ''}</span>}
      <span>
        {line &&
          parseAnsi(line.text).map((piece, i) => (
            <span
              key={i}
              class={piece.classes}
              style={piece.colour ? { color: piece.colour } : undefined}
            >
              {piece.text}
            </span>
          ))}
      </span>
    </div>
  );
}

const PAUSE_MS = 250;

function useSearch(
  lines: ConsoleLines,
  find: string,
  setHits: (hits: number[] | null) => void,
): void {
  useEffect(() => {
    if (!find) {
      setHits(null);
      return undefined;
    }
    let isCurrent = true;
    const timer = setTimeout(() => {
      void lines.loadAll().then(() => {
        if (!isCurrent) return;
        const word = find.toLowerCase();
        const hits: number[] = [];
        for (let n = 0; n < lines.total; n += 1) {
          if (
            stripAnsi(lines.line(n)?.text ?? '')
              .toLowerCase()
              .includes(word)
          )
            hits.push(n);
        }
        setHits(hits);
      });
    }, PAUSE_MS);
    return () => {
      isCurrent = false;
      clearTimeout(timer);
    };
  }, [find, lines.total]);
}
