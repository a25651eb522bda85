import { stream } from '../api/events';
import { isShared } from '../api/client';
import { loadProjects } from '../api/runs';
import { helpOpen } from '../lib/keys';
import { PROJECT_PAGES, queryFor } from '../lib/project_pages';
import { useResource } from '../lib/resource';
import { go, linkTo, route } from '../lib/router';
import { mayAdmin, me } from '../lib/session';
import { isDark, toggleTheme } from '../lib/theme';
import { Button } from './button';
import { Icon } from './icon';
import { Menu } from './menu';

interface Props {
  project: string;
  page: string;
}

export function TopBar({ project, page }: Props) {
  return (
    <header>
      <div class="topbar">
        <a class="wordmark" href="#/" aria-label="kedge: all projects">
          <Icon name="anchor" size={19} />
          kedge
        </a>
        {project && <ProjectMenu project={project} page={page} />}
        {project && (
          <nav aria-label="Project">
            {PROJECT_PAGES.map(({ name, title }) => (
              <a
                key={name}
                href={linkTo(['p', project, name], queryFor(name, page, route.value.query))}
                aria-current={
                  name === page || (name === 'runs' && page === 'run') ? 'page' : undefined
                }
              >
                {title}
              </a>
            ))}
          </nav>
        )}
        <span class="push row" style={{ gap: 2 }}>
          {stream.value !== 'off' && (
            <span class={`live ${stream.value === 'live' ? 'on' : ''}`} role="status">
              {stream.value === 'live' ? 'live' : 'not live'}
            </span>
          )}
          <Button kind="plain" label="Keys (?)" onClick={() => (helpOpen.value = true)}>
            <Icon name="help" size={16} />
          </Button>
          <Button
            kind="plain"
            label={isDark.value ? 'Light theme' : 'Dark theme'}
            onClick={toggleTheme}
          >
            <Icon name={isDark.value ? 'sun' : 'moon'} size={15} />
          </Button>
          {mayAdmin.value && (
            <a class="button plain" href="#/admin">
              Administration
            </a>
          )}
          {!isShared && (
            <a class="button plain" href="#/settings" title="Settings" aria-label="Settings">
              {me.value?.user || 'Settings'}
            </a>
          )}
        </span>
      </div>
      <div class="neatline" aria-hidden="true" />
    </header>
  );
}

function ProjectMenu({ project, page }: Props) {
  return (
    <Menu
      label="Choose a project"
      plain
      face={
        <>
          <b class="clip">{project}</b> <Icon name="down" size={11} />
        </>
      }
    >
      {(close) => <ProjectList current={project} page={page} close={close} />}
    </Menu>
  );
}

function ProjectList({
  current,
  page,
  close,
}: {
  current: string;
  page: string;
  close: () => void;
}) {
  const projects = useResource('projects', (signal) => loadProjects(signal));
  const target = page === 'run' ? 'runs' : page;
  return (
    <>
      {projects.data?.map((project) => (
        <button
          key={project.name}
          type="button"
          class="item"
          aria-selected={project.name === current}
          onClick={() => {
            close();
            go(['p', project.name, target]);
          }}
        >
          <span class="clip">{project.name}</span>
          <span class="faint push">{project.run_count}</span>
        </button>
      ))}
    </>
  );
}
