import { signal } from '@preact/signals';
import { Button } from './button';
import { Dialog } from './dialog';

interface Question {
  title: string; // what is about to happen
  text: string; // what it means, and whether there is a way back
  action: string; // what the button says
}

const open = signal<(Question & { answer: (isSure: boolean) => void }) | null>(null);

/** Asks before something that cannot be undone. */
export function ask(question: Question): Promise<boolean> {
  open.value?.answer(false);
  return new Promise((resolve) => {
    open.value = {
      ...question,
      answer: (isSure) => {
        open.value = null;
        resolve(isSure);
      },
    };
  });
}

export function Ask() {
  const question = open.value;
  if (!question) return null;
  return (
    <Dialog title={question.title} onClose={() => question.answer(false)}>
      <p>{question.text}</p>
      <div class="row end">
        <Button onClick={() => question.answer(false)}>Keep it</Button>
        <Button kind="danger" onClick={() => question.answer(true)}>
          {question.action}
        </Button>
      </div>
    </Dialog>
  );
}
