"""An MLflow script with a run and a registered model; the client prints its addresses itself."""

import mlflow

mlflow.set_experiment("printed / experiment")
with mlflow.start_run(run_name="printed by mlflow"):
    mlflow.log_metric("loss", 1.0)
client = mlflow.MlflowClient()
client.create_registered_model("printed model")
run = mlflow.search_runs(output_format="list")[0].info
client.create_model_version("printed model", f"runs:/{run.run_id}/model", run.run_id)
