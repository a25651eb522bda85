// All journeys, in the order in which they are walked: some look at what those before them left.
import { access } from './journeys/access.mjs';
import { addresses } from './journeys/addresses.mjs';
import { artifacts } from './journeys/artifacts.mjs';
import { charts } from './journeys/charts.mjs';
import { compare } from './journeys/compare.mjs';
import { many } from './journeys/many.mjs';
import { outage } from './journeys/outage.mjs';
import { run } from './journeys/run.mjs';
import { runs } from './journeys/runs.mjs';
import { sweeps } from './journeys/sweeps.mjs';
import { trashJourneys } from './journeys/trash.mjs';
import { wandbRuns } from './journeys/wandb_runs.mjs';

export const journeys = {
  ...runs,
  ...charts,
  ...many,
  ...compare,
  ...run,
  ...sweeps,
  ...artifacts,
  ...access,
  ...addresses,
  ...wandbRuns,
  ...trashJourneys,
  ...outage,
};
