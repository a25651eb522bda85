import { mayWrite } from '../lib/session';
import { Chips } from './chips';

interface Props {
  labels: { [key: string]: string };
  noun?: string;
  onChange: (change: { [key: string]: string | null }) => void; // null takes one away
}

/** Names with values, written "name=value". */
export function LabelEditor({ labels, noun = 'label', onChange }: Props) {
  const texts = Object.entries(labels).map(([key, value]) => (value ? `${key}=${value}` : key));
  const split = (text: string): [string, string] => {
    const mark = text.indexOf('=');
    return mark < 0 ? [text, ''] : [text.slice(0, mark).trim(), text.slice(mark + 1).trim()];
  };
  const change = mayWrite.value && {
    onAdd: (text: string) => {
      const [key, value] = split(text);
      onChange({ [key]: value });
    },
    onRemove: (text: string) => {
      const key = Object.keys(labels).find((k) => text === k || text.startsWith(`${k}=`));
      if (key !== undefined) onChange({ [key]: null });
    },
  };
  return <Chips values={texts} noun={noun} hint="name=value" {...change} />;
}
