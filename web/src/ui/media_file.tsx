import { formatBytes } from '../lib/numbers';

interface Props {
  type: string; // "audio-file", or any other that is a file
  path: string;
  url: string;
  size?: number;
}

const WORDS: Record<string, string> = {
  'object3D-file': 'A 3-D object',
  'molecule-file': 'A molecule',
  'plotly-file': 'A Plotly figure',
  'bokeh-file': 'A Bokeh figure',
  'graph-file': 'A graph',
};

/** A file that a run logged: played where a browser can, else to be downloaded. */
export function MediaFile({ type, path, url, size }: Props) {
  const name = path.split('/').pop() ?? path;
  if (type === 'audio-file') return <audio controls preload="metadata" src={url} title={name} />;
  if (type === 'video-file' && name.endsWith('.gif')) {
    return <img class="picture" src={url} alt={name} />;
  }
  const link = (
    <a href={url} download={name}>
      {name}
    </a>
  );
  if (type === 'video-file') {
    return (
      <>
        <video class="picture" controls preload="metadata" src={url} title={name} />
        <p class="faint">{link}</p>
      </>
    );
  }
  return (
    <p>
      {WORDS[type] ?? 'A file'}, which this page does not draw: {link}
      {size !== undefined && <span class="faint"> {formatBytes(size)}</span>}
    </p>
  );
}
