// The panels are as wandb 0.31 writes them into a run's config.
import { describe, expect, it } from 'vitest';
import { parseTable } from './tables';
import { binsOf, confusionOf, parsePanels } from './wandb_panels';

function panel(preset: string, fieldSettings: { [role: string]: string }, tableKey: string) {
  return {
    panel_type: 'Vega2',
    panel_config: {
      userQuery: {
        queryFields: [
          {
            name: 'runSets',
            args: [{ name: 'runSets', value: '${runSets}' }],
            fields: [
              { name: 'id', fields: [] },
              { name: 'summaryTable', args: [{ name: 'tableKey', value: tableKey }], fields: [] },
            ],
          },
        ],
      },
      panelDefId: preset,
      transform: { name: 'tableWithLeafColNames' },
      fieldSettings,
      stringSettings: { title: 'T' },
    },
  };
}

const FIELDS = { Actual: 'Actual', Predicted: 'Predicted', nPredictions: 'nPredictions' };
const PANELS = parsePanels({
  conf: panel('wandb/confusion_matrix/v1', FIELDS, 'conf_table'),
  broken: { panel_type: 'Vega2' },
});

describe('panels', () => {
  it('name their table, their preset and their columns', () => {
    expect(PANELS).toEqual([
      {
        key: 'conf',
        table: 'conf_table',
        preset: 'wandb/confusion_matrix/v1',
        fields: FIELDS,
        texts: { title: 'T' },
      },
    ]);
  });

  it('make a matrix of the rows of a confusion matrix', () => {
    const rows = [
      ['cat', 'cat', 2],
      ['cat', 'dog', 1],
      ['dog', 'cat', 0],
      ['dog', 'dog', 3],
    ];
    const table = parseTable({ columns: Object.keys(FIELDS), rows });
    expect(PANELS[0] && confusionOf(table, PANELS[0])).toEqual({
      classes: ['cat', 'dog'],
      counts: [
        [2, 1],
        [0, 3],
      ],
    });
  });

  it('count values in bins, the greatest in the last', () => {
    const table = parseTable({ columns: ['v'], rows: [[0], [1], [1.5], [4], ['NaN']] });
    expect(binsOf(table, 'v')).toEqual({
      columns: ['v', 'count'],
      rows: [
        [{ value: 1 }, { value: 3 }],
        [{ value: 3 }, { value: 1 }],
      ],
    });
  });
});
