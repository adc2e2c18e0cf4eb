package unit

import (
	"fmt"
	"strings"
)

// task is the scheduled task that starts the daemon when the user logs on to
// Windows, in that session: a service would not have the user's credentials.
// conhost keeps the program from opening a window. A task gives no environment;
// where variables were recorded they are set by cmd first.
func (s Spec) task() string {
	args := fmt.Sprintf(`--headless "%s" serve --by task`, s.Program)
	var sets []string
	for _, v := range s.Env {
		if v.Name == "FOLDWATCH_HOME" { // the session has everything else
			sets = append(sets, fmt.Sprintf(`set "%s=%s"`, v.Name, v.Value))
		}
	}
	if len(sets) > 0 {
		args = fmt.Sprintf(`--headless cmd.exe /d /c "%s && "%s" serve --by task"`, strings.Join(sets, " && "), s.Program)
	}
	return fmt.Sprintf(`<?xml version="1.0" encoding="UTF-8"?>
<Task version="1.2" xmlns="http://schemas.microsoft.com/windows/2004/02/mit/task">
  <RegistrationInfo>
    <Description>Memory of your projects and their agents, in git</Description>
    <URI>\%[1]s</URI>
  </RegistrationInfo>
  <Triggers>
    <LogonTrigger>
      <Enabled>true</Enabled>
      <UserId>%[2]s</UserId>
    </LogonTrigger>
  </Triggers>
  <Principals>
    <Principal id="Author">
      <UserId>%[2]s</UserId>
      <LogonType>InteractiveToken</LogonType>
      <RunLevel>LeastPrivilege</RunLevel>
    </Principal>
  </Principals>
  <Settings>
    <MultipleInstancesPolicy>IgnoreNew</MultipleInstancesPolicy>
    <DisallowStartIfOnBatteries>false</DisallowStartIfOnBatteries>
    <StopIfGoingOnBatteries>false</StopIfGoingOnBatteries>
    <AllowHardTerminate>true</AllowHardTerminate>
    <StartWhenAvailable>true</StartWhenAvailable>
    <Hidden>true</Hidden>
    <ExecutionTimeLimit>PT0S</ExecutionTimeLimit>
    <Priority>7</Priority>
    <RestartOnFailure>
      <Interval>PT1M</Interval>
      <Count>10</Count>
    </RestartOnFailure>
  </Settings>
  <Actions Context="Author">
    <Exec>
      <Command>conhost.exe</Command>
      <Arguments>%[3]s</Arguments>
    </Exec>
  </Actions>
</Task>
`, Name, escape(s.Account), escape(args))
}
