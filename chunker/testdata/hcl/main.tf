# The network and the store of the shop.

terraform {
  required_version = ">= 1.6"

  required_providers {
    aws = {
      source  = "hashicorp/aws"
      version = "~> 5.40"
    }
  }

  backend "s3" {
    bucket = "shop-state"
    key    = "prod.tfstate"
    region = "eu-central-1"
  }
}

provider "aws" {
  region = var.region
}

variable "region" {
  type        = string
  default     = "eu-central-1"
  description = "Where everything runs."
}

variable "zones" {
  type    = list(string)
  default = ["a", "b", "c"]
}

locals {
  name = "shop-${terraform.workspace}"
  tags = {
    project = "shop"
    stage   = terraform.workspace
  }
}

module "network" {
  source = "./modules/network"
  name   = local.name
  zones  = var.zones
}

module "dns" {
  source  = "terraform-aws-modules/route53/aws"
  version = "2.11.0"
}

// Pictures of the goods.
resource "aws_s3_bucket" "pictures" {
  bucket        = "${local.name}-pictures"
  force_destroy = false
  tags          = local.tags
}

resource "aws_s3_bucket_policy" "pictures" {
  bucket = aws_s3_bucket.pictures.id
  policy = <<-JSON
    {
      "Version": "2012-10-17",
      "Statement": [{ "Effect": "Allow", "Action": "s3:GetObject" }]
    }
  JSON
}

/* One machine per zone. */
resource "aws_instance" "api" {
  for_each      = toset(var.zones)
  ami           = data.aws_ami.debian.id
  instance_type = "t4g.small"

  root_block_device {
    volume_size = 20
    encrypted   = true
  }

  dynamic "ebs_block_device" {
    for_each = var.disks
    content {
      device_name = ebs_block_device.value.name
      volume_size = ebs_block_device.value.size
    }
  }

  lifecycle {
    create_before_destroy = true
  }
}

data "aws_ami" "debian" {
  most_recent = true
  owners      = ["136693071363"]
}

output "api_addresses" {
  value = [for i in aws_instance.api : i.private_ip]
}
