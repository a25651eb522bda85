import { render } from 'preact';
import 'uplot/dist/uPlot.min.css';
import './styles/tokens.css';
import './styles/page.css';
import './styles/controls.css';
import './styles/runs.css';
import './styles/charts.css';
import './styles/leaves.css';
import './styles/run.css';
import './styles/compare.css';
import './styles/media.css';
import './lib/theme';
import { App } from './app';

const root = document.getElementById('app');
if (root) render(<App />, root);
