import { useMemo } from 'preact/hooks';
import type { Lineage, LineageNode } from '../api/artifacts';
import { layOut } from '../lib/layered_graph';
import { linkTo } from '../lib/router';

interface Props {
  lineage: Lineage;
  project: string;
  current: string; // the label of the artifact this page is about
}

const COLUMN = 220;
const ROW = 46;
const WIDTH = 168;
const HEIGHT = 30;
const MARGIN = 12;

/** Runs and artifacts, from what went in on the left to what came out on the right. */
export function LineageGraph({ lineage, project, current }: Props) {
  const placed = useMemo(
    () =>
      layOut(
        lineage.nodes.map((n) => n.id),
        lineage.edges,
      ),
    [lineage],
  );
  const top = Math.min(0, ...placed.map((p) => p.row));
  const at = new Map(
    placed.map((p) => [p.id, { x: MARGIN + p.column * COLUMN, y: MARGIN + (p.row - top) * ROW }]),
  );
  const width = Math.max(...placed.map((p) => p.column), 0) * COLUMN + WIDTH + 2 * MARGIN;
  const height = Math.max(...[...at.values()].map((p) => p.y), 0) + HEIGHT + MARGIN;
  return (
    <div class="lineage">
      <svg width={width} height={height} role="group" aria-label="Lineage">
        {lineage.edges.map(({ from, to }) => {
          const [a, b] = [at.get(from), at.get(to)];
          if (!a || !b) return null;
          const [x0, y0, x1, y1] = [a.x + WIDTH, a.y + HEIGHT / 2, b.x, b.y + HEIGHT / 2];
          const bend = (x1 - x0) / 2;
          return (
            <path
              key={`${from} ${to}`}
              class="edge"
              d={`M${x0} ${y0}C${x0 + bend} ${y0} ${x1 - bend} ${y1} ${x1} ${y1}`}
            />
          );
        })}
        {lineage.nodes.map((node) => {
          const place = at.get(node.id);
          return (
            place && (
              <a key={node.id} href={hrefOf(node, project)}>
                <g
                  class={`node ${node.kind} ${node.label === current ? 'current' : ''}`}
                  transform={`translate(${place.x} ${place.y})`}
                >
                  <title>{`${node.label} (${node.state ?? node.kind})`}</title>
                  <rect width={WIDTH} height={HEIGHT} rx={node.kind === 'run' ? HEIGHT / 2 : 2} />
                  <text x={12} y={19}>
                    {node.label.length > 22 ? `${node.label.slice(0, 21)}...` : node.label}
                  </text>
                </g>
              </a>
            )
          );
        })}
      </svg>
    </div>
  );
}

function hrefOf(node: LineageNode, project: string): string {
  const owner = node.project ?? project;
  if (node.kind === 'run') return linkTo(['p', owner, 'run', node.run ?? node.id]);
  const colon = node.label.lastIndexOf(':');
  return linkTo(['p', owner, 'artifacts', node.label.slice(0, colon), node.label.slice(colon + 1)]);
}
